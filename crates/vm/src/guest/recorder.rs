//! Sends the trace from the guest's kernel to the host.

use std::os::fd::BorrowedFd;

use schedlab_recording::tracefs::{Recorder, Wanted};
use schedlab_recording::RecordingError;
use schedlab_trace::{CpuId, Time};

use crate::channel::Kind;

use super::{cannot_send, send_json, Host, Problem};

/// A recording in progress.
pub struct Recording {
    recorder: Recorder,
    start: Time,
}

impl Recording {
    /// Sets up tracing and tells the host how to decode the trace.
    pub fn prepare(
        buffer_kib: u64,
        observers: &[u32],
        wanted: Wanted,
        host: &mut Host,
    ) -> Result<Recording, Problem> {
        let recorder = Recorder::new(buffer_kib, observers, wanted).map_err(in_words)?;
        send_json(host, Kind::Recording, recorder.description())?;
        Ok(Recording {
            recorder,
            start: Time::ZERO,
        })
    }

    /// Starts recording.
    pub fn start(&mut self) -> Result<(), Problem> {
        self.start = self.recorder.start().map_err(in_words)?;
        Ok(())
    }

    /// Descriptors to poll: readable when a buffer is half full.
    pub fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.recorder.pipes()
    }

    /// Sends the content of buffers that are half full.
    pub fn relieve(&mut self, host: &mut Host) -> Result<(), Problem> {
        self.read(false, host)
    }

    /// Stops recording and sends the rest.
    pub fn finish(mut self, host: &mut Host) -> Result<(), Problem> {
        let report = self.recorder.stop(self.start).map_err(in_words)?;
        self.read(true, host)?;
        send_json(host, Kind::Recorded, &report)
    }

    fn read(&mut self, all: bool, host: &mut Host) -> Result<(), Problem> {
        let send_page = |cpu: CpuId, page: &[u8]| {
            let parts: [&[u8]; 2] = [&cpu.0.to_le_bytes(), page];
            host.send(Kind::Page, &parts)
                .map_err(|error| PageProblem(cannot_send(error)))
        };
        let read = self.recorder.read_pages(all, send_page);
        read.map_err(|PageProblem(problem)| problem)
    }
}

/// An error with a page, in the kernel or in the channel.
struct PageProblem(Problem);

impl From<RecordingError> for PageProblem {
    fn from(error: RecordingError) -> PageProblem {
        PageProblem(in_words(error))
    }
}

fn in_words(error: RecordingError) -> Problem {
    format!("recording: {error}")
}
