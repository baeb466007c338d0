//! interbench's statistics, computed from the trace as version 0.31 computes them from its clocks.

use schedlab_trace::{Event, EventKind, MarkId, Sink, TaskId, TaskInfo, Time, TraceInfo};

/// Length of a burst of gaming, in ns.
const BURST_NS: u64 = 100_000_000;

/// What is benchmarked: which frames come due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bench {
    /// 2.5 ms every 50 ms.
    Audio,
    /// 40 % of the CPU, 60 times a second.
    Video,
    /// 0 to 100 ms of every 100 ms.
    X,
    /// All CPU time.
    Gaming,
}

impl Bench {
    /// Its name on the command line and that of its thread.
    pub fn name(self) -> &'static str {
        match self {
            Bench::Audio => "audio",
            Bench::Video => "video",
            Bench::X => "x",
            Bench::Gaming => "gaming",
        }
    }

    /// For a frame: the delay after its wakeup that does not count, and the time it may take from then, in ns.
    fn deadline(self, frame: u64) -> (u64, u64) {
        match self {
            Bench::Audio => (0, 50_000_000),
            Bench::Video => (0, 16_666_000),
            // X sleeps to the end of its interval and then adds its work to the deadline.
            Bench::X => (frame % 101 * 1_000_000, (100 - frame % 101) * 1_000_000),
            Bench::Gaming => (0, 0),
        }
    }
}

/// A row of interbench's table under construction.
#[derive(Clone, Debug)]
pub struct Account {
    bench: Bench,
    task: Option<TaskId>,
    burn: Option<MarkId>,
    frame: u64,
    /// The moment it was woken for its frame.
    woken: Option<Time>,
    /// The moment it ran then.
    started: Option<Time>,
    /// Latencies, in ns.
    pub latencies: Vec<u64>,
    achieved_burns: u64,
    missed_burns: u64,
    deadlines_met: u64,
    missed_deadlines: u64,
}

impl Account {
    /// Nothing yet.
    pub fn new(bench: Bench) -> Account {
        Account {
            bench,
            task: None,
            burn: None,
            frame: 0,
            woken: None,
            started: None,
            latencies: Vec::new(),
            achieved_burns: 0,
            missed_burns: 0,
            deadlines_met: 0,
            missed_deadlines: 0,
        }
    }

    /// Average latency, in ns.
    pub fn average(&self) -> f64 {
        self.latencies.iter().map(|x| *x as f64).sum::<f64>() / self.latencies.len() as f64
    }

    /// The largest, in ns.
    pub fn max(&self) -> f64 {
        self.latencies.iter().copied().max().unwrap_or(0) as f64
    }

    /// What interbench prints as standard deviation: it divides the square of the average by the number of
    /// samples where it should multiply, which leaves the root mean square.
    pub fn printed_sd(&self) -> f64 {
        let (n, average) = (self.latencies.len() as f64, self.average());
        ((self.sum_of_squares() - average * average / n) / (n - 1.0)).sqrt()
    }

    /// The standard deviation.
    pub fn sd(&self) -> f64 {
        let (n, average) = (self.latencies.len() as f64, self.average());
        ((self.sum_of_squares() - average * average * n).max(0.0) / (n - 1.0)).sqrt()
    }

    /// The part of the CPU time it wanted that it got.
    pub fn desired_cpu(&self) -> f64 {
        share(self.achieved_burns, self.missed_burns)
    }

    /// The part of its deadlines it met; gaming has none.
    pub fn met(&self) -> f64 {
        match self.bench {
            Bench::Gaming => f64::NAN,
            _ => share(self.deadlines_met, self.missed_deadlines),
        }
    }

    fn sum_of_squares(&self) -> f64 {
        self.latencies
            .iter()
            .map(|x| (*x as f64) * (*x as f64))
            .sum()
    }

    /// periodic_schedule() from the moment the frame is started to that it is done.
    fn frame_done(&mut self, woken: Time, started: Time, done: Time) {
        let (slack, interval) = self.bench.deadline(self.frame);
        let due = woken.0 + slack;
        let mut latency = started.0.saturating_sub(due);
        if interval > 0 && started.0 > due + interval {
            let missed = intervals(started.0 - due - interval, interval);
            self.missed_deadlines += missed;
            self.missed_burns += missed;
            latency += missed * interval;
        } else {
            self.achieved_burns += 1;
            latency += self.deadline(due + interval, interval, done.0);
        }
        self.latencies.push(latency);
    }

    /// Met, or missed by so many intervals; the time of these.
    fn deadline(&mut self, deadline: u64, interval: u64, done: u64) -> u64 {
        if deadline >= done {
            self.deadlines_met += 1;
            return 0;
        }
        if interval == 0 {
            return 0;
        }
        let missed = intervals(done - deadline, interval);
        self.missed_deadlines += missed;
        if missed > 1 {
            self.missed_burns += missed;
        }
        missed * interval
    }

    fn burst_done(&mut self, ns: u64) {
        let latency = ns.saturating_sub(BURST_NS);
        self.achieved_burns += BURST_NS;
        self.missed_burns += latency;
        self.latencies.push(latency);
    }
}

/// Intervals begun since the deadline.
fn intervals(late: u64, interval: u64) -> u64 {
    late / interval + 1
}

fn share(achieved: u64, missed: u64) -> f64 {
    match achieved {
        0 => 0.0,
        _ => achieved as f64 / (achieved + missed) as f64,
    }
}

impl Sink for Account {
    fn begin(&mut self, info: &TraceInfo) {
        let place = info.marks.iter().position(|mark| mark == "burn");
        self.burn = place.map(|place| MarkId(place as u32));
    }

    fn task(&mut self, info: &TaskInfo) {
        if info.name == self.bench.name() {
            self.task = Some(info.id);
        }
    }

    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Waking { task, .. } if Some(task) == self.task => {
                self.woken = Some(event.time)
            }
            EventKind::Switch { next, .. } if next.is_some() && next == self.task => {
                self.started = self.started.or(self.woken.map(|_| event.time));
            }
            EventKind::Mark { task, mark, .. }
                if Some(task) == self.task && Some(mark) == self.burn =>
            {
                if let (Some(woken), Some(started)) = (self.woken.take(), self.started.take()) {
                    self.frame_done(woken, started, event.time);
                }
                self.frame += 1;
            }
            EventKind::Latency { task, ns, .. } if Some(task) == self.task => self.burst_done(ns.0),
            _ => {}
        }
    }

    /// interbench waits for its thread at the end, so a frame that has not begun counts.
    fn end(&mut self, time: Time) {
        if let (Some(woken), None) = (self.woken, self.started) {
            self.frame_done(woken, time, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn account(bench: Bench, frames: &[(u64, u64, u64)]) -> Account {
        let mut account = Account::new(bench);
        for &(woken, started, done) in frames {
            account.frame_done(Time(woken * MS), Time(started * MS), Time(done * MS));
            account.frame += 1;
        }
        account
    }

    #[test]
    fn audio_counts_what_it_met_missed_and_dropped() {
        // On time; 10 ms late; 60 ms late, which is more than the interval of 50: two intervals are
        // dropped, as (60 - 50) / 50 + 1 = 1 is; done 5 ms after the next was due.
        let a = account(
            Bench::Audio,
            &[
                (50, 50, 53),
                (100, 110, 113),
                (150, 210, 213),
                (250, 290, 305),
            ],
        );
        assert_eq!(a.latencies, [0, 10 * MS, (60 + 50) * MS, (40 + 50) * MS]);
        assert_eq!((a.achieved_burns, a.missed_burns), (3, 1));
        assert_eq!((a.deadlines_met, a.missed_deadlines), (2, 2));
        assert_eq!((a.desired_cpu(), a.met()), (0.75, 0.5));
    }

    #[test]
    fn x_may_be_as_late_as_its_work_is_long() {
        // Frames 0, 1 and 2 want 0, 1 and 2 ms.
        let a = account(
            Bench::X,
            &[(100, 100, 100), (200, 201, 202), (300, 305, 307)],
        );
        assert_eq!(a.latencies, [0, 0, 3 * MS]);
        assert_eq!(a.met(), 1.0);
    }

    #[test]
    fn what_is_printed_is_the_root_mean_square() {
        let mut a = Account::new(Bench::Gaming);
        for ms in [111, 112, 113, 112] {
            a.burst_done(ms * MS);
        }
        assert_eq!(a.average(), 12.0 * MS as f64);
        assert!((a.sd() / MS as f64 - (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
        // (121 + 144 + 169 + 144 - 144 / 4) / 3 = 180.67
        assert!((a.printed_sd() / MS as f64 - 180.667f64.sqrt()).abs() < 1e-3);
        assert!((a.desired_cpu() - 400.0 / 448.0).abs() < 1e-12);
    }
}
