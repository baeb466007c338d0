//! Records until the callback returns false.

use std::os::fd::BorrowedFd;

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use schedlab_trace::CpuId;

use crate::decode::Decoder;
use crate::{Recording, RecordingError};

use super::{Recorder, Wanted};

/// Memory of the buffers in KiB: of all CPUs together, then the most and the least of one CPU.
const ALL_BUFFERS_KIB: u64 = 512 << 10;
const MOST_KIB: u64 = 16 << 10;
const LEAST_KIB: u64 = 1 << 10;

/// Time between two calls of the callback.
const BEAT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Records this machine until `go_on` returns false. The first call follows the start. Tasks of the
/// processes `observers` are marked as part of the recording program.
///
/// # Errors
/// Those of [`Recorder`], or a trace that cannot be read.
pub fn record(
    wanted: Wanted,
    observers: &[u32],
    mut go_on: impl FnMut() -> bool,
) -> Result<Recording, RecordingError> {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let buffer_kib = (ALL_BUFFERS_KIB / cpus).clamp(LEAST_KIB, MOST_KIB);
    let mut recorder = Recorder::new(buffer_kib, observers, wanted)?;
    let mut decoder = Decoder::new(recorder.description())?;
    let mut decode = |cpu: CpuId, page: &[u8]| decoder.page(cpu, page);
    let start = recorder.start()?;
    while go_on() {
        wait(&recorder);
        recorder.read_pages(false, &mut decode)?;
    }
    let report = recorder.stop(start)?;
    recorder.read_pages(true, &mut decode)?;
    Ok(decoder.finish(&report))
}

/// Sleeps until the next call of the callback, or until a buffer is half full.
fn wait(recorder: &Recorder) {
    let pipes: Vec<BorrowedFd> = recorder.pipes().collect();
    let polled = pipes.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN));
    // The caller checks everything, also after an interrupted call.
    let _ = poll(&mut polled.collect::<Vec<_>>(), Some(&BEAT));
}
