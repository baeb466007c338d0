//! The scheduler's program: starts before the command, stops after it.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::{kill_process, Pid, Signal};

use crate::channel::Kind;
use crate::job::{Job, THROWN_OUT};

use super::processes::{spawn, Children, Pump};
use super::{observer, Host, Problem};

/// State of sched_ext: "enabled" when a scheduler is attached.
const STATE: &str = "/sys/kernel/sched_ext/state";

/// Guest time between two checks while a scheduler starts or ends.
const BEAT: Duration = Duration::from_millis(10);

/// Most guest time that a scheduler may take to attach or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A scheduler that is attached.
pub struct Scheduler {
    pid: u32,
    output: [Pump; 2],
}

impl Scheduler {
    /// Starts it and waits until its scheduler is attached.
    pub fn start(
        argv: &[String],
        job: &Job,
        children: &mut Children,
        host: &mut Host,
    ) -> Result<Scheduler, Problem> {
        if !fs::exists(STATE).unwrap_or(false) {
            return Err("this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)".into());
        }
        let pump = || Pump::new(Kind::Scheduler).map_err(|e| format!("a pipe: {e}"));
        let ((out, stdout), (err, stderr)) = (pump()?, pump()?);
        let mut scheduler = Scheduler {
            pid: spawn(argv, job, stdout, stderr)?,
            output: [out, err],
        };
        let attached = scheduler.wait(children, host, is_attached)?;
        match (attached, children.end_of(scheduler.pid)) {
            (true, _) => {
                // The program polls its scheduler and must not be scheduled by it.
                observer::raise(scheduler.pid).map_err(|e| format!("real-time priority: {e}"))?;
                Ok(scheduler)
            }
            (false, Some(_)) => Err(format!("{}: ended without attaching", argv[0])),
            (false, None) => Err(format!("{}: did not attach", argv[0])),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Terminates it and waits for its end. It is an error if the scheduler was no longer attached.
    pub fn stop(&mut self, children: &mut Children, host: &mut Host) -> Result<(), Problem> {
        let stayed = is_attached() && children.end_of(self.pid).is_none();
        if let Some(pid) = Pid::from_raw(self.pid as i32) {
            // An error here means that it has ended; that is checked next.
            let _ = kill_process(pid, Signal::TERM);
        }
        self.wait(children, host, || false)?;
        match (stayed, children.end_of(self.pid)) {
            (false, _) => Err(THROWN_OUT.into()),
            (true, None) => Err("the scheduler does not end after SIGTERM".into()),
            (true, Some(_)) => Ok(()),
        }
    }

    /// Waits until `wanted` is true, the program ends or `PATIENCE` is over; returns whether
    /// `wanted` is true.
    fn wait(
        &mut self,
        children: &mut Children,
        host: &mut Host,
        wanted: impl Fn() -> bool,
    ) -> Result<bool, Problem> {
        for _ in 0..PATIENCE.as_millis() / BEAT.as_millis() {
            children.reap();
            let ended = children.end_of(self.pid).is_some();
            self.output
                .iter_mut()
                .try_for_each(|pump| pump.drain(host))?;
            if wanted() {
                return Ok(true);
            } else if ended {
                break;
            }
            thread::sleep(BEAT);
        }
        Ok(false)
    }
}

fn is_attached() -> bool {
    fs::read_to_string(STATE).is_ok_and(|state| state.trim() == "enabled")
}
