//! CPUs idling while tasks wait ("wasted cores": Lozi and others, EuroSys 2016).

use schedlab_trace::{Ns, Time};

use crate::observation::Load;
use crate::IdleWhileRunnable;

/// A stretch of time during which there always was an idle CPU and a waiting task.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    start: u64,
    end: u64,
}

/// The integral of min(idle CPUs, waiting tasks) as time goes by.
#[derive(Debug, Default)]
pub(crate) struct Idling {
    level: u32,
    since: u64,
    lost: u64,
    /// The stretch that goes on if the level is not 0; else the last one.
    current: Option<Stretch>,
    longest: Option<Stretch>,
}

impl Idling {
    #[inline]
    pub fn load(&mut self, load: Load, now: u64) {
        let level = load.waiting_tasks.min(load.idle_cpus);
        if level == self.level {
            return;
        }
        let lost = u64::from(self.level).saturating_mul(now - self.since);
        self.lost = self.lost.saturating_add(lost);
        self.since = now;
        if self.level == 0 {
            self.open(now);
        } else if level == 0 {
            self.close(now);
        }
        self.level = level;
    }

    /// A stretch begins; the last one goes on if it ended at this very time.
    fn open(&mut self, now: u64) {
        if self.current.is_none_or(|last| last.end != now) {
            self.current = Some(Stretch {
                start: now,
                end: now,
            });
        }
    }

    fn close(&mut self, now: u64) {
        let Some(current) = &mut self.current else {
            return;
        };
        current.end = now;
        let length = |s: Stretch| s.end - s.start;
        if length(*current) > self.longest.map_or(0, length) {
            self.longest = Some(*current);
        }
    }

    pub fn end(&mut self, now: u64) {
        self.load(Load::default(), now);
    }

    /// `cpu_time` is the duration times the number of CPUs.
    pub fn finish(&self, cpu_time: u128) -> IdleWhileRunnable {
        let longest = self.longest.unwrap_or_default();
        IdleWhileRunnable {
            ns: Ns(self.lost),
            share: super::share(self.lost, cpu_time),
            longest_ns: Ns(longest.end - longest.start),
            longest_start_ns: self.longest.map(|stretch| Time(stretch.start)),
        }
    }
}
