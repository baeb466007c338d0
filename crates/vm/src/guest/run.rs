//! The guest's work: starts the scheduler, runs the command, stops the scheduler.

use std::fs;
use std::os::fd::BorrowedFd;

use rustix::event::{poll, PollFd, PollFlags};

use crate::channel::Kind;
use crate::job::{Ended, Exit, Job, NOTES_FILE};

use super::processes::{spawn, Children, Pump, Usage};
use super::recorder::Recording;
use super::scheduler::Scheduler;
use super::{kernel_log, now_ns, observer, send, send_json, Host, Problem};
use schedlab_recording::tracefs::Wanted;

/// Runs the job's command and reports the result to the host.
pub fn run(job: &Job, host: &mut Host) -> Result<(), Problem> {
    let mut children = Children::watch().map_err(|e| format!("signals: {e}"))?;
    observer::rise().map_err(|e| format!("real-time priority: {e}"))?;
    let prepared = now_ns();
    let ran = with_scheduler(job, &mut children, host);
    // Kernel messages explain failures, too.
    let complaints = kernel_log::complaints_since(prepared);
    send(host, Kind::KernelLog, complaints.as_bytes())?;
    ran
}

fn with_scheduler(job: &Job, children: &mut Children, host: &mut Host) -> Result<(), Problem> {
    let Some(argv) = &job.scheduler else {
        return record(job, &[], children, host);
    };
    let mut scheduler = Scheduler::start(argv, job, children, host)?;
    record(job, &[scheduler.pid()], children, host)?;
    scheduler.stop(children, host)
}

/// Runs the command and records its trace.
fn record(
    job: &Job,
    observers: &[u32],
    children: &mut Children,
    host: &mut Host,
) -> Result<(), Problem> {
    let mut recording = match job.buffer_kib {
        Some(buffer_kib) => Some(Recording::prepare(
            buffer_kib,
            observers,
            Wanted {
                data_flow: job.data_flow,
            },
            host,
        )?),
        None => None,
    };
    send(host, Kind::Started, &[])?;
    if let Some(recording) = &mut recording {
        recording.start()?;
    }
    let started = now_ns();
    let mut command = Running::start(job)?;
    let (exit, usage) = loop {
        children.reap();
        let end = children.end_of(command.pid);
        command.drain(host)?;
        match end {
            Some(end) => break end,
            None => command.wait(children, recording.as_mut(), host)?,
        }
    };
    let real_ns = now_ns() - started;
    if let Some(recording) = recording {
        recording.finish(host)?;
    }
    send_notes(host)?;
    send_json(host, Kind::Ended, &ended(real_ns, exit, usage))
}

/// Sends the notes that the command wrote, if any.
fn send_notes(host: &mut Host) -> Result<(), Problem> {
    let notes = fs::read(NOTES_FILE).unwrap_or_default();
    let mut pieces = notes.chunks(1 << 20);
    pieces.try_for_each(|piece| send(host, Kind::Notes, piece))
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
        let pid = spawn(&job.command, job, stdout, stderr)?;
        Ok(Running {
            pid,
            pumps: [out, err],
        })
    }

    fn drain(&mut self, host: &mut Host) -> Result<(), Problem> {
        self.pumps.iter_mut().try_for_each(|pump| pump.drain(host))
    }

    /// Sleeps until an event, and empties trace buffers that are half full.
    fn wait(
        &self,
        children: &Children,
        recording: Option<&mut Recording>,
        host: &mut Host,
    ) -> Result<(), Problem> {
        let pipes = self.pumps.iter().filter_map(Pump::pipe);
        let mut watched: Vec<BorrowedFd> = pipes.chain([children.news()]).collect();
        if let Some(recording) = &recording {
            watched.extend(recording.pipes());
        }
        wait_for(&watched);
        recording.map_or(Ok(()), |recording| recording.relieve(host))
    }
}

/// Sleeps until one of the descriptors is readable.
fn wait_for(watched: &[BorrowedFd]) {
    let mut polled: Vec<PollFd> = watched
        .iter()
        .map(|fd| PollFd::new(fd, PollFlags::IN))
        .collect();
    // The caller checks everything, also after an interrupted call.
    let _ = poll(&mut polled, None);
}
