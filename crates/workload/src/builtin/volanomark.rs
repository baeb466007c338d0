//! VolanoMark: chat rooms in Java, the benchmark of most measurements of Linux
//! schedulers under many threads.
//!
//! Each of a room's users has a connection with four threads:
//!
//! ```text
//!            client's process              │          server's process
//!  Receiver ──turn──▶ Sender ──── socket ──┼──▶ Receiver ──┬─▶ queue of every other user
//!     ▲                                    │               └─▶ own queue (confirmation)
//!     └───────────────────────── socket ◀──┼──── Sender ◀───── own queue
//! ```
//!
//! Users take turns: user u sends when what it has sent and received adds up to u modulo the
//! number of users, so one message is current in a room, and what runs in parallel is its
//! fan-out and the rooms.  Receivers yield after every packet, senders after every batch they
//! drained from their queue.
//!
//! The score counts what the client sends and receives, confirmations apart: 10 rooms of 20
//! users with 100 messages each are 20,000 sent and 380,000 received.
//!
//! FIDELITY: a client's Receiver cannot tell a confirmation from a message, so it takes the
//! first packet after its own message for the confirmation.  Only the order of counting
//! differs, and only if the server's Receiver is overtaken by a whole round.

use schedlab_input::Diagnostic;
use schedlab_trace::{MarkId, Ns};

use super::rooms::{Role, Rooms};
use super::values::{number, sigma, size, time};
use super::Benchmark;
use crate::builder::{Builder, Ops};
use crate::{Amount, Op, Times};

/// The options.
#[derive(clap::Parser, Debug)]
pub struct VolanoMark {
    /// Chat rooms.
    #[arg(long, default_value_t = 10, value_parser = number(1, 25_000))]
    pub rooms: u32,
    /// Users in each room.
    #[arg(long, default_value_t = 20, value_parser = number(2, 200))]
    pub users: u32,
    /// Messages each user sends.
    #[arg(long, default_value_t = 100, value_parser = number(1, 1_000_000))]
    pub count: u32,
    /// Median CPU time to write a packet to a socket.
    ///
    /// Assumed, as are the other two.  Together they make 173 us for each counted message.  Published
    /// throughputs of the time, 11,500 to 17,600 messages a second on 4 processors, mean 230 to
    /// 350 us, of which a part is schedule() and system calls.
    #[arg(long, default_value = "80us", value_name = "TIME", value_parser = time)]
    pub write: Ns,
    /// Median CPU time to read and parse a packet from a socket.
    #[arg(long, default_value = "70us", value_name = "TIME", value_parser = time)]
    pub read: Ns,
    /// Median CPU time to put a message into one user's queue.
    #[arg(long, default_value = "15us", value_name = "TIME", value_parser = time)]
    pub put: Ns,
    /// How much the CPU times vary: standard deviation of their logarithm.  Assumed.
    #[arg(long, default_value = "0.2", value_name = "SIGMA", value_parser = sigma)]
    pub variation: u32,
    /// Packets a socket holds: 64 KiB at about 512 bytes for each small packet.  Assumed.
    #[arg(long, default_value_t = 128, value_name = "PACKETS", value_parser = number(1, u32::MAX))]
    pub socket: u32,
    /// Memory each thread touches repeatedly: stack, buffers, its objects.  Assumed.
    #[arg(long, default_value = "8KiB", value_name = "SIZE", value_parser = size)]
    pub working_set: u64,
}

/// The CPU time of each step.
struct Work {
    write: Amount,
    read: Amount,
    put: Amount,
}

/// What the users of one room share: a channel of each kind for each user.
struct Room {
    turns: Vec<u32>,
    to_server: Vec<u32>,
    queues: Vec<u32>,
    to_client: Vec<u32>,
}

impl Benchmark for VolanoMark {
    const NAME: &'static str = "volanomark";
    const SUMMARY: &'static str =
        "chat rooms in Java: users take turns, four threads each, a yield after every packet";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let rooms = Rooms {
            rooms: self.rooms,
            users: self.users,
            working_set_bytes: self.working_set,
        };
        rooms.check(Self::NAME)?;
        let message = builder.mark("message");
        let work = Work {
            write: builder.around(self.write, self.variation),
            read: builder.around(self.read, self.variation),
            put: builder.around(self.put, self.variation),
        };
        for number in 0..self.rooms {
            let room = self.room(&rooms, builder);
            for user in 0..self.users {
                for (role, ops) in self.programs(&room, user, &work, message) {
                    let program = builder.program(ops);
                    builder.task(rooms.thread(role, number, user, program));
                }
            }
        }
        Ok(())
    }
}

impl VolanoMark {
    /// The channels of one room.  The queues inside the processes never fill: they could hold
    /// every message the room ever sends.
    fn room(&self, rooms: &Rooms, builder: &mut Builder) -> Room {
        let unbounded = self.users.saturating_mul(self.count);
        Room {
            turns: rooms.channels(builder, unbounded),
            to_server: rooms.channels(builder, self.socket),
            queues: rooms.channels(builder, unbounded),
            to_client: rooms.channels(builder, self.socket),
        }
    }

    /// The four threads of one connection.
    fn programs(&self, room: &Room, user: u32, work: &Work, message: MarkId) -> [(Role, Ops); 4] {
        [
            (
                Role::ClientReceiver,
                self.client_receiver(room, user, work, message),
            ),
            (
                Role::ClientSender,
                self.client_sender(room, user, work, message),
            ),
            (Role::ServerReceiver, self.server_receiver(room, user, work)),
            (Role::ServerSender, server_sender(room, user, work)),
        ]
    }

    /// Counts what arrives and gives its sender the turn after `user` messages, then after
    /// every full round of the room.
    fn client_receiver(&self, room: &Room, user: u32, work: &Work, message: MarkId) -> Ops {
        let socket = room.to_client[user as usize];
        let confirmation = |ops: &mut Ops| {
            ops.push(Op::Receive {
                channel: socket,
                count: 1,
            });
            ops.run(work.read).push(Op::Yield);
        };
        let messages = |ops: &mut Ops, count: u32| {
            ops.repeat(Times::Fixed(count), |ops| {
                ops.push(Op::Receive {
                    channel: socket,
                    count: 1,
                });
                ops.run(work.read);
                ops.push(Op::Mark {
                    mark: message,
                    count: 1,
                });
                ops.push(Op::Yield);
            });
        };
        let turn = Op::Send {
            channel: room.turns[user as usize],
            count: 1,
        };
        let mut ops = Ops::new();
        messages(&mut ops, user);
        ops.push(turn);
        ops.repeat(Times::Fixed(self.count - 1), |ops| {
            confirmation(ops);
            messages(ops, self.users - 1);
            ops.push(turn);
        });
        confirmation(&mut ops);
        messages(&mut ops, self.users - 1 - user);
        ops
    }

    /// Sends a message each time it is its turn.  Its queue never holds more than one: the next
    /// turn needs a round, and the round needs this message.
    fn client_sender(&self, room: &Room, user: u32, work: &Work, message: MarkId) -> Ops {
        let user = user as usize;
        let mut ops = Ops::new();
        ops.repeat(Times::Fixed(self.count), |ops| {
            ops.push(Op::Receive {
                channel: room.turns[user],
                count: 1,
            });
            ops.run(work.write);
            ops.push(Op::Send {
                channel: room.to_server[user],
                count: 1,
            });
            ops.push(Op::Mark {
                mark: message,
                count: 1,
            });
            ops.push(Op::Yield);
        });
        ops
    }

    /// Hands each message to all other users and then confirms it to its sender.
    fn server_receiver(&self, room: &Room, user: u32, work: &Work) -> Ops {
        let others = (0..self.users).filter(|other| *other != user);
        let recipients: Vec<u32> = others.chain([user]).collect();
        let mut ops = Ops::new();
        ops.repeat(Times::Forever, |ops| {
            ops.push(Op::Receive {
                channel: room.to_server[user as usize],
                count: 1,
            });
            ops.run(work.read);
            for recipient in recipients {
                ops.run(work.put);
                ops.push(Op::Send {
                    channel: room.queues[recipient as usize],
                    count: 1,
                });
            }
            ops.push(Op::Yield);
        });
        ops
    }
}

/// Drains the user's queue and writes it packet by packet.
fn server_sender(room: &Room, user: u32, work: &Work) -> Ops {
    let user = user as usize;
    let mut ops = Ops::new();
    ops.repeat(Times::Forever, |ops| {
        ops.push(Op::ReceiveAll {
            channel: room.queues[user],
        });
        ops.repeat(Times::Received, |ops| {
            ops.run(work.write);
            ops.push(Op::Send {
                channel: room.to_client[user],
                count: 1,
            });
        });
        ops.push(Op::Yield);
    });
    ops
}
