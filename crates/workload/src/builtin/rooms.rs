//! Chat rooms: users, four threads for each, two processes.

use schedlab_input::Diagnostic;

use super::errors::bad_option;
use crate::builder::{task, Builder};
use crate::{Process, ProgramId, TaskSpec};

/// The client's process and the server's.
const CLIENT: Process = Process::Shared(1);
const SERVER: Process = Process::Shared(2);

/// How many connections a run may have: 100,000 threads.
const CONNECTIONS_MAX: u32 = 25_000;

/// One of the four threads of a connection.
#[derive(Clone, Copy)]
pub(super) enum Role {
    ClientSender,
    ClientReceiver,
    ServerSender,
    ServerReceiver,
}

impl Role {
    fn group(self) -> &'static str {
        match self {
            Role::ClientSender => "client-sender",
            Role::ClientReceiver => "client-receiver",
            Role::ServerSender => "server-sender",
            Role::ServerReceiver => "server-receiver",
        }
    }
}

/// How many rooms and users there are, and how their threads are called.
pub(super) struct Rooms {
    pub rooms: u32,
    pub users: u32,
    pub working_set_bytes: u64,
}

impl Rooms {
    /// Refuses more connections than a run may have.
    pub fn check(&self, benchmark: &str) -> Result<(), Diagnostic> {
        let connections = u64::from(self.rooms) * u64::from(self.users);
        if connections <= u64::from(CONNECTIONS_MAX) {
            return Ok(());
        }
        Err(bad_option(
            benchmark,
            "--rooms",
            format!("{connections} connections are too many"),
            format!("rooms times users at most {CONNECTIONS_MAX}"),
        ))
    }

    /// One thread.  The server's do not end: the benchmark is over when the client's are.
    pub fn thread(&self, role: Role, room: u32, user: u32, program: ProgramId) -> TaskSpec {
        let serves = matches!(role, Role::ServerSender | Role::ServerReceiver);
        TaskSpec {
            group: role.group().to_string(),
            process: if serves { SERVER } else { CLIENT },
            background: serves,
            working_set_bytes: self.working_set_bytes,
            ..task(self.name(role, room, user), program)
        }
    }

    /// "client-sender-03-07": zeros in front, so that the order of names is the order of numbers.
    fn name(&self, role: Role, room: u32, user: u32) -> String {
        let digits = |most: u32| (most - 1).to_string().len();
        let (rooms, users) = (digits(self.rooms), digits(self.users));
        format!("{}-{room:0rooms$}-{user:0users$}", role.group())
    }

    /// One new channel of this capacity for each user of a room.
    pub fn channels(&self, builder: &mut Builder, capacity: u32) -> Vec<u32> {
        (0..self.users).map(|_| builder.channel(capacity)).collect()
    }
}
