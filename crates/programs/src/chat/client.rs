//! The client: two threads for each user.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Barrier, Condvar, Mutex, PoisonError};

use rustix::thread::sched_yield;

use crate::system::now;
use crate::work::Work;

use super::{thread, Counts, Labour, Message, Plan};

/// Turns that a user has received and not used yet.
#[derive(Default)]
struct Turns {
    left: Mutex<u32>,
    news: Condvar,
}

impl Turns {
    fn give(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.news.notify_one();
    }

    fn take(&self) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.news.wait_while(left, |left| *left == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// Connects all users, runs their threads and counts messages.
pub fn run(plan: Plan, server: SocketAddr, work: Work, counts: Counts) -> io::Result<()> {
    let ready = Arc::new(Barrier::new(2 * (plan.rooms * plan.users) as usize + 1));
    let mut threads = Vec::new();
    for who in users(&plan) {
        let mut socket = TcpStream::connect(server)?;
        socket.set_nodelay(true)?;
        socket.write_all(&who.bytes())?;
        let turns = Arc::new(Turns::default());
        let suffix = format!("{}-{}", who.room, who.user);
        let (reading, given, all) = (socket.try_clone()?, turns.clone(), ready.clone());
        threads.push(thread(format!("client-receiver-{suffix}"), move |name| {
            all.wait();
            let labour = Labour::new(work, &plan, name);
            receive(&plan, who, reading, &given, labour, counts)
        })?);
        let all = ready.clone();
        threads.push(thread(format!("client-sender-{suffix}"), move |name| {
            all.wait();
            let labour = Labour::new(work, &plan, name);
            send(&plan, who, socket, &turns, labour, counts)
        })?);
    }
    ready.wait();
    let start = now();
    for thread in threads {
        let ended = thread.join();
        ended.map_err(|_| io::Error::other("a thread failed"))?;
    }
    counts.time(now().since(start));
    Ok(())
}

fn users(plan: &Plan) -> impl Iterator<Item = Message> {
    let users = plan.users;
    (0..plan.rooms).flat_map(move |room| (0..users).map(move |user| Message { room, user }))
}

/// Sends all messages, each after the user's turn.
fn send(
    plan: &Plan,
    who: Message,
    mut socket: TcpStream,
    turns: &Turns,
    mut labour: Labour,
    counts: Counts,
) -> io::Result<()> {
    for _ in 0..plan.count {
        if plan.polite {
            turns.take();
        }
        labour.run(plan.write);
        socket.write_all(&who.bytes())?;
        counts.sent();
        if plan.polite {
            sched_yield();
        }
    }
    Ok(())
}

/// Counts received messages. User u has its turn when its sent and received messages add up to u
/// modulo the number of users.
fn receive(
    plan: &Plan,
    who: Message,
    mut socket: TcpStream,
    turns: &Turns,
    mut labour: Labour,
    counts: Counts,
) -> io::Result<()> {
    let (mut received, mut given, mut confirmed) = (0, 0, 0);
    let wanted = plan.count * (plan.users - 1);
    let confirmations = if plan.polite { plan.count } else { 0 };
    while received < wanted || confirmed < confirmations {
        if (received + given) % plan.users == who.user && given < plan.count {
            given += 1;
            turns.give();
        }
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let message = Message::read(&mut socket)?.ok_or_else(broken)?;
        labour.run(plan.read);
        match message.user == who.user {
            true => confirmed += 1,
            false => {
                received += 1;
                counts.received();
            }
        }
        if plan.polite {
            sched_yield();
        }
    }
    Ok(())
}
