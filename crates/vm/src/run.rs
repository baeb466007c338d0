//! A virtual machine's life, seen from the host.

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

/// A kernel that has not come up by then will not.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);

/// Lines of the kernel's log that are shown when it died.
const LAST_WORDS: usize = 30;

/// What a guest is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Its kernel comes up.
    Booting,
    /// It prepares the command: the scheduler is loaded.
    Preparing,
    /// The command runs.
    Running,
    /// The command has ended; the rest of its trace is fetched.
    Collecting,
}

impl State {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            State::Booting => "booting",
            State::Preparing => "preparing",
            State::Running => "running",
            State::Collecting => "collecting",
        }
    }
}

/// Who hears of what happens in a guest, as it happens.
pub trait Listener {
    /// The command wrote to its standard output.
    ///
    /// # Errors
    /// Nobody wants it any more; the run ends.
    fn stdout(&mut self, bytes: &[u8]) -> Result<(), VmError>;
    /// The command wrote to its standard error.
    ///
    /// # Errors
    /// Nobody wants it any more; the run ends.
    fn stderr(&mut self, bytes: &[u8]) -> Result<(), VmError>;
    /// Called again and again, whatever happens.
    fn beat(&mut self, _state: State) {}
}

/// What a guest that came to its end leaves.
#[derive(Clone, Debug)]
pub struct GuestOutcome {
    /// What it said when it was up.
    pub hello: Hello,
    /// How the command went.
    pub ended: Ended,
    /// What the scheduler's program wrote.
    pub scheduler: String,
    /// The kernel's complaints while the command ran, in lines.
    pub kernel_log: String,
    /// What was recorded, if that was wanted.
    pub recording: Option<Recording>,
}

/// Boots the machine, runs the command in it and brings back how it went.
///
/// # Errors
/// Everything that keeps the command from ending by itself; a command that fails is no error.
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

/// A machine that is on.
struct Guest {
    qemu: Killed,
    /// QEMU opens it when it gets round to it.
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

    /// Takes in all that has arrived.
    fn listen(&mut self, story: &mut Story, listener: &mut dyn Listener) -> Result<(), VmError> {
        // A machine that is off says nothing after what it said before.
        self.exited = self.qemu.0.try_wait().map_err(VmError::Host)?.is_some();
        while let Some(frame) = self.reader.receive().map_err(garbled)? {
            story.go_on(frame, listener)?;
        }
        Ok(())
    }

    /// Is there any sense in waiting on?
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

    /// What QEMU and the kernel said last.
    fn last_words(&mut self) -> String {
        let [mut text, console] = [&mut self.complaints, &mut self.console].map(|file| {
            let mut bytes = Vec::new();
            // Half of it is better than none.
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

/// What the guest has told so far.
struct Story {
    /// None: all of it.
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

    /// A page of a trace buffer, behind its CPU's number.
    fn page(&mut self, bytes: &[u8]) -> Result<(), VmError> {
        let untold = || VmError::Garbled("a page of an unknown trace".into());
        let decoder = self.decoder.as_mut().ok_or_else(untold)?;
        let (cpu, page) = bytes.split_first_chunk().ok_or_else(untold)?;
        Ok(decoder.page(CpuId(u32::from_le_bytes(*cpu)), page)?)
    }

    fn outcome(mut self) -> Result<GuestOutcome, VmError> {
        let untold = || VmError::Garbled("the end came before the story".into());
        if !self.notes.is_empty() {
            let damaged = || VmError::Garbled("notes nobody can read".into());
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
