//! The server: two threads for each connection, a queue of messages for each user.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::thread::sched_yield;

use crate::system::rest;
use crate::work::Work;

use super::{thread, Labour, Message, Plan};

/// Messages that wait to be written to a user.
#[derive(Default)]
struct Queue {
    messages: Mutex<VecDeque<Message>>,
    news: Condvar,
}

impl Queue {
    fn put(&self, message: Message) {
        let messages = self.messages.lock();
        messages
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(message);
        self.news.notify_one();
    }

    /// Takes all messages in the queue, or one.
    fn take(&self, all: bool) -> VecDeque<Message> {
        let messages = self.messages.lock();
        let messages = messages.unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .news
            .wait_while(messages, |messages| messages.is_empty());
        let mut messages = waited.unwrap_or_else(PoisonError::into_inner);
        let count = if all { messages.len() } else { 1 };
        messages.drain(..count).collect()
    }
}

/// Serves until it is ended.
pub fn serve(plan: Plan, listener: &TcpListener, work: Work) -> io::Result<()> {
    let queues = (0..plan.rooms * plan.users).map(|_| Queue::default());
    let queues: Arc<Vec<Queue>> = Arc::new(queues.collect());
    for _ in 0..plan.rooms * plan.users {
        let mut socket = listener.accept()?.0;
        socket.set_nodelay(true)?;
        // The first message names the user.
        let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let who = Message::read(&mut socket)?.ok_or_else(broken)?;
        let suffix = format!("{}-{}", who.room, who.user);
        let (reading, for_receiver) = (socket.try_clone()?, Arc::clone(&queues));
        thread(format!("server-receiver-{suffix}"), move |name| {
            receive(
                &plan,
                reading,
                &for_receiver,
                Labour::new(work, &plan, name),
            )
        })?;
        let for_sender = Arc::clone(&queues);
        thread(format!("server-sender-{suffix}"), move |name| {
            let own = &for_sender[(who.room * plan.users + who.user) as usize];
            send(&plan, socket, own, Labour::new(work, &plan, name))
        })?;
    }
    rest()
}

/// Hands each message to all other users, and confirms it to its sender.
fn receive(
    plan: &Plan,
    mut socket: TcpStream,
    queues: &[Queue],
    mut labour: Labour,
) -> io::Result<()> {
    while let Some(message) = Message::read(&mut socket)? {
        labour.run(plan.read);
        let room = &queues[(message.room * plan.users) as usize..][..plan.users as usize];
        let others = (0..plan.users).filter(|user| *user != message.user);
        let confirmed = plan.polite.then_some(message.user);
        for user in others.chain(confirmed) {
            labour.run(plan.put);
            room[user as usize].put(message);
        }
        if plan.polite {
            sched_yield();
        }
    }
    Ok(())
}

/// Writes the messages of a user's queue.
fn send(plan: &Plan, mut socket: TcpStream, queue: &Queue, mut labour: Labour) -> io::Result<()> {
    loop {
        for message in queue.take(plan.polite) {
            labour.run(plan.write);
            socket.write_all(&message.bytes())?;
        }
        if plan.polite {
            sched_yield();
        }
    }
}
