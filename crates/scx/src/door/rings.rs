//! Ring buffers among the files that a loader waits for with epoll.

use std::collections::BTreeMap;

use super::notify::{Answer, Call};
use super::peer::{BadAddress, Inode, Peer};
use super::wire::number;
use crate::machine::Machine;
use crate::maps::MapId;

/// EPOLL_CTL_DEL; the other operations say what a ring buffer's owner wants to be told.
const DELETE: i32 = 2;

/// Bytes of a struct epoll_event: what happens, and what its owner wants to be told.
const EVENT: usize = if cfg!(target_arch = "x86_64") { 12 } else { 16 };

/// The ring buffers in each set of epoll, with what their owner wants to be told.
#[derive(Debug, Default)]
pub struct Rings(BTreeMap<Inode, BTreeMap<MapId, Vec<u8>>>);

impl Rings {
    /// epoll_ctl() about a ring buffer.
    pub fn control(&mut self, call: &Call, map: MapId) -> Answer {
        let peer = Peer(call.thread);
        let Some(set) = peer.inode(call.int(0)) else {
            return Answer::Error(libc::EBADF);
        };
        let rings = self.0.entry(set).or_default();
        match call.int(1) {
            DELETE => drop(rings.remove(&map)),
            _ => match peer.read(call.args[3], EVENT) {
                Ok(event) => drop(rings.insert(map, event)),
                Err(BadAddress) => return Answer::Error(libc::EFAULT),
            },
        }
        Answer::Value(0)
    }

    /// What epoll_wait() answers at once, because a ring buffer holds records; none if it does not.
    pub fn events(&self, call: &Call, m: &Machine) -> Option<Answer> {
        if !is_wait(call.nr) {
            return None;
        }
        let peer = Peer(call.thread);
        let rings = self.0.get(&peer.inode(call.int(0))?)?;
        let ready = rings.iter().filter(|(map, _)| m.is_unread(**map));
        let most = call.int(2).max(0) as usize;
        let events: Vec<Vec<u8>> = ready.take(most).map(|(_, event)| readable(event)).collect();
        if events.is_empty() {
            return None;
        }
        let written = peer.write(call.args[1], &events.concat());
        Some(written.map_or(Answer::Error(libc::EFAULT), |()| {
            Answer::Value(events.len() as i64)
        }))
    }

    /// Does epoll_wait() wait for a ring buffer, too?
    pub fn are_in(&self, call: &Call) -> bool {
        let set = || Peer(call.thread).inode(call.int(0));
        is_wait(call.nr) && set().is_some_and(|set| self.0.contains_key(&set))
    }
}

fn is_wait(nr: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if nr == libc::SYS_epoll_wait {
        return true;
    }
    nr == libc::SYS_epoll_pwait
}

/// The event that happens: EPOLLIN, if it was asked for.
fn readable(event: &[u8]) -> Vec<u8> {
    let asked = number(event, 0, 4) as u32 & libc::EPOLLIN as u32;
    [&asked.to_le_bytes(), &event[4..]].concat()
}
