//! Runs a virtual machine and collects its messages.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::thread;
use std::time::{Duration, Instant};

use schedlab_recording::{Decoder, Notes, Recording};
use schedlab_trace::CpuId;

use crate::channel::{Frame, Kind, Reader};
use crate::initramfs::Content;
use crate::job::{Ended, Hello, THROWN_OUT};
use crate::process::{Killed, Stop, BEAT};
use crate::qemu::{memory_file, Machine, SHARED_BYTES};
use crate::VmError;

/// Most time for the guest's kernel to boot.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);

/// Lines of the kernel's log that are shown after a crash.
const LAST_WORDS: usize = 30;

/// State of a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The kernel boots.
    Booting,
    /// The guest prepares the command and loads the scheduler.
    Preparing,
    /// The command runs.
    Running,
    /// The command has ended; the host reads the rest of the trace.
    Collecting,
}

impl State {
    /// The state's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            State::Booting => "booting",
            State::Preparing => "preparing",
            State::Running => "running",
            State::Collecting => "collecting",
        }
    }
}

/// Receives a guest's output while it runs.
pub trait Listener {
    /// The command wrote to its standard output.
    ///
    /// # Errors
    /// The output cannot be passed on; the run ends.
    fn stdout(&mut self, bytes: &[u8]) -> Result<(), VmError>;
    /// The command wrote to its standard error.
    ///
    /// # Errors
    /// The output cannot be passed on; the run ends.
    fn stderr(&mut self, bytes: &[u8]) -> Result<(), VmError>;
    /// Called regularly.
    fn beat(&mut self, _state: State) {}
}

/// Result of a guest that finished.
#[derive(Clone, Debug)]
pub struct GuestOutcome {
    /// The guest's first message.
    pub hello: Hello,
    /// Result of the command.
    pub ended: Ended,
    /// Output of the scheduler's program.
    pub scheduler: String,
    /// The kernel's warnings and errors while the command ran, one a line.
    pub kernel_log: String,
    /// The recording, if one was requested.
    pub recording: Option<Recording>,
}

/// Boots the machine, runs the command in it and returns the result.
///
/// # Errors
/// Anything that keeps the command from ending. A command with a non-zero status is no
/// error.
pub fn run(
    machine: &Machine,
    content: &Content,
    timeout: Duration,
    listener: &mut dyn Listener,
    stop: Stop,
) -> Result<GuestOutcome, VmError> {
    let mut guest = Guest::start(machine, &content.pack()?)?;
    let mut story = Story::default();
    loop {
        guest.listen(&mut story, listener)?;
        let Some(state) = story.state else {
            return story.outcome();
        };
        guest.check(state, timeout, stop)?;
        listener.beat(state);
        thread::sleep(BEAT);
    }
}

/// A running machine.
struct Guest {
    qemu: Killed,
    /// Keeps the file open until QEMU has opened it.
    _initramfs: File,
    reader: Reader,
    console: File,
    complaints: File,
    started: Instant,
    exited: bool,
}

impl Guest {
    fn start(machine: &Machine, initramfs: &[u8]) -> Result<Guest, VmError> {
        let mut packed = memory_file("schedlab-initramfs")?;
        packed.write_all(initramfs).map_err(VmError::Host)?;
        let console = memory_file("schedlab-console")?;
        let complaints = memory_file("schedlab-qemu")?;
        let shared = memory_file("schedlab-shared")?;
        let reader = Reader::prepare(shared, SHARED_BYTES).map_err(VmError::Host)?;
        let stderr = complaints.try_clone().map_err(VmError::Host)?;
        let qemu = machine.start(&packed, reader.memory(), &console, stderr)?;
        Ok(Guest {
            qemu,
            _initramfs: packed,
            reader,
            console,
            complaints,
            started: Instant::now(),
            exited: false,
        })
    }

    /// Reads all messages that have arrived.
    fn listen(&mut self, story: &mut Story, listener: &mut dyn Listener) -> Result<(), VmError> {
        // Read after this check, so that the last messages of an ended machine are not lost.
        self.exited = self.qemu.0.try_wait().map_err(VmError::Host)?.is_some();
        while let Some(frame) = self.reader.receive().map_err(garbled)? {
            story.go_on(frame, listener)?;
        }
        Ok(())
    }

    /// Returns an error if the run must end.
    fn check(&mut self, state: State, timeout: Duration, stop: Stop) -> Result<(), VmError> {
        let after = self.started.elapsed();
        let stuck = state == State::Booting && after > BOOT_PATIENCE;
        if stop() {
            return Err(VmError::Interrupted);
        } else if self.exited {
            return Err(VmError::Died(self.last_words()));
        } else if after > timeout || stuck {
            let log = self.last_words();
            let state = state.name();
            return Err(VmError::TimedOut { after, state, log });
        }
        Ok(())
    }

    /// The last messages of QEMU and of the kernel.
    fn last_words(&mut self) -> String {
        let [mut text, console] = [&mut self.complaints, &mut self.console].map(|file| {
            let mut bytes = Vec::new();
            // Show what can be read.
            let _ = file
                .seek(SeekFrom::Start(0))
                .and_then(|_| file.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let lines: Vec<&str> = console.lines().collect();
        for line in &lines[lines.len().saturating_sub(LAST_WORDS)..] {
            text += &format!("kernel: {}\n", line.trim_end());
        }
        text.trim_end().to_string()
    }
}

/// The messages received so far.
struct Story {
    /// `None`: all messages were received.
    state: Option<State>,
    hello: Option<Hello>,
    ended: Option<Ended>,
    scheduler: Vec<u8>,
    kernel_log: String,
    decoder: Option<Decoder>,
    recording: Option<Recording>,
    notes: Vec<u8>,
}

impl Default for Story {
    fn default() -> Story {
        Story {
            state: Some(State::Booting),
            hello: None,
            ended: None,
            scheduler: Vec::new(),
            kernel_log: String::new(),
            decoder: None,
            recording: None,
            notes: Vec::new(),
        }
    }
}

impl Story {
    fn go_on(&mut self, frame: Frame, listener: &mut dyn Listener) -> Result<(), VmError> {
        let bytes = frame.bytes;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match frame.kind {
            Kind::Hello => {
                self.hello = Some(serde_json::from_slice(&bytes).map_err(VmError::json)?);
                self.state = Some(State::Preparing);
            }
            Kind::Started => self.state = Some(State::Running),
            Kind::Stdout => listener.stdout(&bytes)?,
            Kind::Stderr => listener.stderr(&bytes)?,
            Kind::Recording => {
                let description = serde_json::from_slice(&bytes).map_err(VmError::json)?;
                self.decoder = Some(Decoder::new(&description)?);
            }
            Kind::Page => self.page(&bytes)?,
            Kind::Recorded => {
                let report = serde_json::from_slice(&bytes).map_err(VmError::json)?;
                self.recording = self.decoder.take().map(|decoder| decoder.finish(&report));
            }
            Kind::Ended => {
                self.ended = Some(serde_json::from_slice(&bytes).map_err(VmError::json)?);
                self.state = Some(State::Collecting);
            }
            Kind::Notes => self.notes.extend(bytes),
            Kind::Scheduler => self.scheduler.extend(bytes),
            Kind::KernelLog => self.kernel_log += &text(&bytes),
            Kind::Failed => return Err(self.failed(text(&bytes))),
            Kind::Done => self.state = None,
        }
        Ok(())
    }

    fn failed(&self, problem: String) -> VmError {
        let scheduler = String::from_utf8_lossy(&self.scheduler);
        let scheduler: Vec<&str> = scheduler.lines().collect();
        let last = &scheduler[scheduler.len().saturating_sub(LAST_WORDS)..];
        let lines = last.iter().map(|line| format!("\nscheduler: {line}"));
        let kernel = self
            .kernel_log
            .lines()
            .map(|line| format!("\nkernel: {line}"));
        let details = lines.chain(kernel).collect();
        match problem == THROWN_OUT {
            true => VmError::ThrownOut { details },
            false => VmError::Guest { problem, details },
        }
    }

    /// A page of a trace buffer, after the number of its CPU.
    fn page(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let untold = || VmError::Garbled("a trace page came before the trace's description".into());
        let decoder = self.decoder.as_mut().ok_or_else(untold)?;
        let (cpu, page) = bytes.split_first_chunk().ok_or_else(untold)?;
        Ok(decoder.page(CpuId(u32::from_le_bytes(*cpu)), page)?)
    }

    fn outcome(mut self) -> Result<GuestOutcome, VmError> {
        let untold = || VmError::Garbled("a message is missing".into());
        if !self.notes.is_empty() {
            let damaged = || VmError::Garbled("the command's notes are damaged".into());
            let notes = Notes::from_bytes(&self.notes).ok_or_else(damaged)?;
            if let Some(recording) = &mut self.recording {
                recording.note(notes);
            }
        }
        Ok(GuestOutcome {
            hello: self.hello.ok_or_else(untold)?,
            ended: self.ended.ok_or_else(untold)?,
            scheduler: String::from_utf8_lossy(&self.scheduler).into_owned(),
            kernel_log: self.kernel_log,
            recording: self.recording,
        })
    }
}

fn garbled(error: io::Error) -> VmError {
    VmError::Garbled(error.to_string())
}
