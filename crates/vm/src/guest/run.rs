//! The guest's work proper: scheduler up, command, scheduler down.

use std::os::fd::BorrowedFd;

use rustix::event::{poll, PollFd, PollFlags};

use crate::channel::Kind;
use crate::job::{Ended, Exit, Job};

use super::processes::{spawn, Children, Pump, Usage};
use super::{kernel_log, now_ns, observer, send, send_json, Host, Problem};

/// Runs the job's command and tells the host all about it.
pub fn run(job: &Job, host: &mut Host) -> Result<(), Problem> {
    let mut children = Children::watch().map_err(|e| format!("signals: {e}"))?;
    observer::rise().map_err(|e| format!("real-time priority: {e}"))?;
    let started = now_ns();
    send(host, Kind::Started, &[])?;
    let mut command = Running::start(job)?;
    let (exit, usage) = loop {
        children.reap();
        let end = children.end_of(command.pid);
        command.drain(host)?;
        match end {
            Some(end) => break end,
            None => command.wait(&children),
        }
    };
    send_json(host, Kind::Ended, &ended(now_ns() - started, exit, usage))?;
    let complaints = kernel_log::complaints_since(started);
    send(host, Kind::KernelLog, complaints.as_bytes())
}

fn ended(real_ns: u64, exit: Exit, usage: Usage) -> Ended {
    Ended {
        exit,
        real_ns,
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
        max_rss_kib: usage.max_rss_kib,
    }
}

/// The command while it runs.
struct Running {
    pid: u32,
    pumps: [Pump; 2],
}

impl Running {
    fn start(job: &Job) -> Result<Running, Problem> {
        let pump = |kind| Pump::new(kind).map_err(|e| format!("a pipe: {e}"));
        let ((out, stdout), (err, stderr)) = (pump(Kind::Stdout)?, pump(Kind::Stderr)?);
        let pid = spawn(&job.command, &job.environment, &job.folder, stdout, stderr)?;
        Ok(Running {
            pid,
            pumps: [out, err],
        })
    }

    fn drain(&mut self, host: &mut Host) -> Result<(), Problem> {
        self.pumps.iter_mut().try_for_each(|pump| pump.drain(host))
    }

    /// Sleeps until something happens.
    fn wait(&self, children: &Children) {
        let pipes = self.pumps.iter().filter_map(Pump::pipe);
        let watched: Vec<BorrowedFd> = pipes.chain([children.news()]).collect();
        let mut polled: Vec<PollFd> = watched
            .iter()
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .collect();
        // Interrupted or not, the caller looks at everything next.
        let _ = poll(&mut polled, None);
    }
}
