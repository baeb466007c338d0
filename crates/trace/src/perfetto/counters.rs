//! Counters over time, each on its own track.

use std::collections::BTreeMap;
use std::io::Write;

use super::packets::Packets;
use super::schema::{packet, track, track_event};
use crate::{CpuId, MarkId, TaskId, Time};

/// What a track shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Tasks running or waiting, on all CPUs.
    Runnable,
    /// Tasks waiting for a CPU.
    Waiting(CpuId),
    /// A task's priority as its policy sees it.
    Priority(TaskId),
    /// How often the workload did something.
    Mark(MarkId),
    /// What the workload measured last.
    Latency(MarkId),
    /// A policy's own counter.
    Policy(u32),
}

/// The name, unit and place of a track.
pub struct Description<'a> {
    pub name: &'a str,
    /// The track it is drawn under; 0 for none.
    pub parent_uuid: u64,
    /// One of [`unit`](super::schema::unit); none for numbers without one.
    pub unit: Option<u64>,
    /// Its place among its siblings.
    pub rank: u64,
}

struct Track {
    uuid: u64,
    value: i64,
    written: Option<i64>,
    touched: bool,
}

/// All counters.  A value is written when time moves on, so that one nanosecond leaves one
/// sample however often the value changed within it, and only if it differs from the last.
pub struct Counters {
    tracks: BTreeMap<Counter, Track>,
    touched: Vec<Counter>,
    next_uuid: u64,
}

impl Counters {
    /// Tracks get identifiers from `first_uuid` on.
    pub fn new(first_uuid: u64) -> Self {
        Counters {
            tracks: BTreeMap::new(),
            touched: Vec::new(),
            next_uuid: first_uuid,
        }
    }

    /// Does the counter have a track?
    pub fn has(&self, counter: Counter) -> bool {
        self.tracks.contains_key(&counter)
    }

    /// An identifier no other track has.
    pub fn new_uuid(&mut self) -> u64 {
        self.next_uuid += 1;
        self.next_uuid - 1
    }

    /// Gives a counter a track, and the value 0 until it is set.
    pub fn describe<W: Write>(
        &mut self,
        packets: &mut Packets<W>,
        time: Time,
        counter: Counter,
        how: &Description<'_>,
    ) {
        let uuid = self.new_uuid();
        packets.packet(Some(time), |p| {
            p.message(packet::TRACK_DESCRIPTOR, |d| {
                d.uint(track::UUID, uuid);
                d.text(track::NAME, how.name);
                if how.parent_uuid != 0 {
                    d.uint(track::PARENT_UUID, how.parent_uuid);
                    d.uint(track::SIBLING_ORDER_RANK, how.rank);
                }
                d.message(track::COUNTER, |c| {
                    if let Some(unit) = how.unit {
                        c.uint(track::COUNTER_UNIT, unit);
                    }
                });
            });
        });
        self.tracks.insert(
            counter,
            Track {
                uuid,
                value: 0,
                written: None,
                touched: false,
            },
        );
    }

    /// The counter has this value now.  A counter without a track is ignored.
    pub fn set(&mut self, counter: Counter, value: i64) {
        let Some(track) = self.tracks.get_mut(&counter) else {
            return;
        };
        track.value = value;
        if !std::mem::replace(&mut track.touched, true) {
            self.touched.push(counter);
        }
    }

    /// The counter grew.  A counter without a track is ignored.
    pub fn add(&mut self, counter: Counter, by: u64) {
        if let Some(track) = self.tracks.get(&counter) {
            let value = track.value.wrapping_add_unsigned(by);
            self.set(counter, value);
        }
    }

    /// Writes what has changed, as of `time`.
    pub fn write<W: Write>(&mut self, packets: &mut Packets<W>, time: Time) {
        for counter in self.touched.drain(..) {
            let track = self
                .tracks
                .get_mut(&counter)
                .expect("a touched track exists");
            track.touched = false;
            if track.written.replace(track.value) != Some(track.value) {
                write_sample(packets, time, track);
            }
        }
    }

    /// Writes a counter's value whether it changed or not.
    pub fn repeat<W: Write>(&mut self, packets: &mut Packets<W>, time: Time, counter: Counter) {
        if let Some(track) = self.tracks.get(&counter) {
            write_sample(packets, time, track);
        }
    }
}

fn write_sample<W: Write>(packets: &mut Packets<W>, time: Time, track: &Track) {
    packets.packet(Some(time), |p| {
        p.message(packet::TRACK_EVENT, |e| {
            e.uint(track_event::TYPE, track_event::TYPE_COUNTER);
            e.uint(track_event::TRACK_UUID, track.uuid);
            e.int(track_event::COUNTER_VALUE, track.value);
        });
    });
}
