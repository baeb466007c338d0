//! chat (chat-1.0.1): VolanoMark's structure in C, with an open loop.
//!
//! Every client's sender sends all its messages back to back as soon as all clients are ready;
//! users do not take turns and no thread yields.  The server's receiver puts each message into the
//! queues of the other users; there are no confirmations.

use schedlab_input::Diagnostic;
use schedlab_trace::Ns;

use super::rooms::{Role, Rooms};
use super::values::{number, sigma, size, time};
use super::Benchmark;
use crate::builder::{Builder, Ops};
use crate::{Amount, Op, Times};

/// The options.
#[derive(clap::Parser, Debug)]
pub struct Chat {
    /// Chat rooms.
    #[arg(long, default_value_t = 10, value_parser = number(1, 25_000))]
    pub rooms: u32,
    /// Messages each user sends.
    #[arg(long, default_value_t = 100, value_parser = number(1, 1_000_000))]
    pub messages: u32,
    /// Users in each room.
    #[arg(long, default_value_t = 20, value_parser = number(2, 200))]
    pub users: u32,
    /// Median CPU time to send 100 bytes over a loopback socket.  Assumed, as are the next two.
    #[arg(long, default_value = "30us", value_name = "TIME", value_parser = time)]
    pub send: Ns,
    /// Median CPU time to receive them.
    #[arg(long, default_value = "25us", value_name = "TIME", value_parser = time)]
    pub receive: Ns,
    /// Median CPU time to put a message into one user's queue.
    #[arg(long, default_value = "3us", value_name = "TIME", value_parser = time)]
    pub put: Ns,
    /// How much the CPU times vary: standard deviation of their logarithm.  Assumed.
    #[arg(long, default_value = "0.2", value_name = "SIGMA", value_parser = sigma)]
    pub variation: u32,
    /// Messages a socket holds: 64 KiB at about 512 bytes for each small packet.  Assumed.
    #[arg(long, default_value_t = 128, value_name = "MESSAGES", value_parser = number(1, u32::MAX))]
    pub socket: u32,
    /// Memory each thread touches again and again.  Assumed.
    #[arg(long, default_value = "4KiB", value_name = "SIZE", value_parser = size)]
    pub working_set: u64,
}

/// What all threads need to know.
struct Plan {
    send: Amount,
    receive: Amount,
    put: Amount,
    start: u32,
    mark: Op,
}

/// The channels of one room, one of each kind for each user.
struct Room {
    to_server: Vec<u32>,
    queues: Vec<u32>,
    to_client: Vec<u32>,
}

impl Benchmark for Chat {
    const NAME: &'static str = "chat";
    const SUMMARY: &'static str =
        "chat rooms in C: every user sends all its messages at once, four threads each";

    fn build(&self, builder: &mut Builder) -> Result<(), Diagnostic> {
        let rooms = Rooms {
            rooms: self.rooms,
            users: self.users,
            working_set_bytes: self.working_set,
        };
        rooms.check(Self::NAME)?;
        let mark = builder.mark("message");
        let plan = Plan {
            send: builder.around(self.send, self.variation),
            receive: builder.around(self.receive, self.variation),
            put: builder.around(self.put, self.variation),
            start: builder.barrier(2 * self.rooms * self.users),
            mark: Op::Mark { mark, count: 1 },
        };
        for number in 0..self.rooms {
            let room = Room {
                to_server: rooms.channels(builder, self.socket),
                queues: rooms.channels(builder, self.users.saturating_mul(self.messages)),
                to_client: rooms.channels(builder, self.socket),
            };
            for user in 0..self.users {
                for (role, ops) in self.programs(&room, user, &plan) {
                    let program = builder.program(ops);
                    builder.task(rooms.thread(role, number, user, program));
                }
            }
        }
        Ok(())
    }
}

impl Chat {
    /// The four threads of one connection.
    fn programs(&self, room: &Room, user: u32, plan: &Plan) -> [(Role, Ops); 4] {
        let me = user as usize;
        let incoming = self.messages.saturating_mul(self.users - 1);
        [
            (
                Role::ClientReceiver,
                client(plan, incoming, |ops| {
                    ops.push(Op::Receive {
                        channel: room.to_client[me],
                        count: 1,
                    });
                    ops.run(plan.receive);
                }),
            ),
            (
                Role::ClientSender,
                client(plan, self.messages, |ops| {
                    ops.run(plan.send);
                    ops.push(Op::Send {
                        channel: room.to_server[me],
                        count: 1,
                    });
                }),
            ),
            (
                Role::ServerReceiver,
                server(|ops| {
                    ops.push(Op::Receive {
                        channel: room.to_server[me],
                        count: 1,
                    });
                    ops.run(plan.receive);
                    for other in (0..self.users).filter(|other| *other != user) {
                        ops.run(plan.put);
                        ops.push(Op::Send {
                            channel: room.queues[other as usize],
                            count: 1,
                        });
                    }
                }),
            ),
            (
                Role::ServerSender,
                server(|ops| {
                    ops.push(Op::Receive {
                        channel: room.queues[me],
                        count: 1,
                    });
                    ops.run(plan.send);
                    ops.push(Op::Send {
                        channel: room.to_client[me],
                        count: 1,
                    });
                }),
            ),
        ]
    }
}

/// A client's thread: waits until all clients are ready, then handles `messages` messages and counts each.
fn client(plan: &Plan, messages: u32, step: impl FnOnce(&mut Ops)) -> Ops {
    let mut ops = Ops::new();
    ops.push(Op::Barrier(plan.start));
    ops.repeat(Times::Fixed(messages), |ops| {
        step(ops);
        ops.push(plan.mark);
    });
    ops
}

/// A server's thread: repeats its step for ever.
fn server(step: impl FnOnce(&mut Ops)) -> Ops {
    let mut ops = Ops::new();
    ops.repeat(Times::Forever, step);
    ops
}
