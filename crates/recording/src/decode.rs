//! Decodes pages of trace buffers into a recording.

use rustc_hash::FxHashMap;
use schedlab_trace::{CpuId, Time, WakeContext};
use serde::{Deserialize, Serialize};

use crate::event::{Comm, KernelEvent, KernelEventKind, KernelState, Pid, TaskRef};
use crate::format::{EventFormat, Field};
use crate::identity::KnownTask;
use crate::page::PageLayout;
use crate::recording::{Carries, Recording};
use crate::tracefs::Report;
use crate::RecordingError;

/// Bits of `common_flags`: in a hard or non-maskable interrupt, and in a softirq.
const IN_INTERRUPT: i64 = 0x08 | 0x40;
const IN_SOFTIRQ: i64 = 0x10;

/// The bit of a new task's clone flags that makes it a thread of its parent.
const CLONE_THREAD: i64 = 0x10000;

/// The name that [`tracefs`](crate::tracefs) gives to the probe of sched_yield(2).
pub(crate) const YIELD: &str = "yield";

/// What is needed to decode pages; the kernel that wrote them provides it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The text of `events/header_page`.
    pub header_page: String,
    /// The texts of the formats of the events recorded.
    pub formats: Vec<String>,
    /// Tasks that existed when the recording began.
    pub tasks: Vec<KnownTask>,
    /// Number of CPUs.
    pub nr_cpus: u32,
    /// The kernel's release.
    pub release: String,
}

/// Decodes pages.  The pages of one CPU must come in order; CPUs may be mixed in any way.
pub struct Decoder {
    layout: PageLayout,
    events: FxHashMap<u32, RecordLayout>,
    recording: Recording,
}

/// The layout of one event's records: the places of its fields, by its format.
pub struct RecordLayout {
    id: u32,
    /// `common_flags`
    flags: Field,
    /// `common_pid`: the task that ran when the record was written.
    owner: Field,
    content: Content,
}

/// The fields of an event.
enum Content {
    Switch {
        prev: TaskFields,
        state: StateField,
        next: TaskFields,
    },
    Waking(TaskFields, Field),
    Wakeup(TaskFields, Field),
    Migrate(TaskFields, Field, Field),
    NewTask {
        pid: Field,
        comm: Field,
        flags: Field,
    },
    Fork {
        parent: Field,
        child: Field,
        comm: Field,
    },
    Exec(Field),
    /// Without a thread id the running task renames itself.
    Rename(Option<Field>, Field),
    Exit(TaskFields),
    Yield,
    Runtime(Field, Field, Field),
    /// The number and the arguments, of which the first three are read.
    Enter(Field, Field),
    /// An event for one system call: its number, and a field for each argument.
    EnterOne(Field, Vec<Field>),
    /// The number and the result.
    Return(Field, Field),
}

/// The fields that describe a task.
struct TaskFields {
    pid: Field,
    comm: Field,
    prio: Option<Field>,
}

/// The field of a task's state, and the meaning of its bits.
struct StateField {
    field: Field,
    /// Each bit's meaning, lowest first.
    states: Vec<(u64, KernelState)>,
}

impl Decoder {
    /// A decoder for pages of the kernel described.
    ///
    /// # Errors
    /// A format that cannot be understood.
    pub fn new(description: &Description) -> Result<Decoder, RecordingError> {
        let mut events = FxHashMap::default();
        // sched_wakeup_new is a wakeup, too, but only of new tasks.
        let mut tells_wakeups = false;
        for text in &description.formats {
            let format = EventFormat::parse(text)?;
            tells_wakeups |= format.name == "sched_wakeup";
            let event = RecordLayout::new(format)?;
            events.extend(event.map(|event| (event.id, event)));
        }
        let is_waking = |event: &RecordLayout| matches!(event.content, Content::Waking(..));
        let carries = Carries {
            waking: events.values().any(is_waking),
            wakeup: tells_wakeups,
        };
        let mut recording = Recording::new(carries, description.nr_cpus);
        recording.tasks = description.tasks.clone();
        recording.release = Some(description.release.clone());
        Ok(Decoder {
            layout: PageLayout::parse(&description.header_page)?,
            events,
            recording,
        })
    }

    /// Reads a page of a CPU's buffer.
    ///
    /// # Errors
    /// A damaged page.
    pub fn page(&mut self, cpu: CpuId, page: &[u8]) -> Result<(), RecordingError> {
        let damaged = |problem| RecordingError::Page {
            cpu: cpu.0,
            problem,
        };
        let (events, recording) = (&self.events, &mut self.recording);
        let mut broken = false;
        let end = self.layout.records(page, |time, record| {
            let id = record
                .get(..2)
                .map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])));
            let Some(event) = id.and_then(|id| events.get(&id)) else {
                return; // An event that was not requested.
            };
            match event.read(record, recording) {
                Some(kind) => recording.push(KernelEvent {
                    time: Time(time),
                    cpu,
                    kind,
                }),
                None => broken = true,
            }
        });
        let end = end.map_err(damaged)?;
        self.recording.nr_lost += end.nr_missed;
        match broken {
            true => Err(damaged("an event shorter than its format")),
            false => Ok(()),
        }
    }

    /// The recording; called after the last page.
    pub fn finish(mut self, report: &Report) -> Recording {
        // The kernel's own count includes the losses that pages report.
        self.recording.nr_lost = self.recording.nr_lost.max(report.nr_lost);
        self.recording.call_cost_ns = report.call_cost_ns;
        let span = (Time(report.start_ns), Time(report.end_ns));
        self.recording.finish(Some(span));
        self.recording
    }
}

impl RecordLayout {
    /// The layout of an event's records; none if a recording does not need the event.
    ///
    /// # Errors
    /// A field that is needed is missing.
    pub fn new(format: EventFormat) -> Result<Option<RecordLayout>, RecordingError> {
        let fields = Fields(&format);
        let Some(content) = fields.content()? else {
            return Ok(None);
        };
        Ok(Some(RecordLayout {
            id: format.id,
            flags: fields.field("common_flags")?,
            owner: fields.field("common_pid")?,
            content,
        }))
    }

    /// The event of a record; none if the record is shorter than its format.
    pub fn read(&self, record: &[u8], recording: &mut Recording) -> Option<KernelEventKind> {
        let pid = |field: &Field| field.number(record).map(|pid| Pid(pid as u32));
        let cpu = |field: &Field| field.number(record).map(|cpu| CpuId(cpu as u32));
        let flags = self.flags.number(record)?;
        let by = match (flags & IN_INTERRUPT, flags & IN_SOFTIRQ) {
            (0, 0) => WakeContext::Task,
            (0, _) => WakeContext::SoftIrq,
            _ => WakeContext::Irq,
        };
        Some(match &self.content {
            Content::Switch { prev, state, next } => KernelEventKind::Switch {
                prev: prev.read(record, recording)?,
                prev_state: state.read(record)?,
                next: next.read(record, recording)?,
            },
            Content::Waking(task, target) => KernelEventKind::Waking {
                task: task.read(record, recording)?,
                by,
                target: cpu(target)?,
            },
            Content::Wakeup(task, target) => KernelEventKind::Wakeup {
                task: task.read(record, recording)?,
                by,
                target: cpu(target)?,
            },
            Content::Migrate(task, from, to) => KernelEventKind::Migrate {
                task: task.read(record, recording)?,
                from: cpu(from)?,
                to: cpu(to)?,
            },
            Content::NewTask {
                pid: child,
                comm: name,
                flags,
            } => KernelEventKind::NewTask {
                pid: pid(child)?,
                comm: comm(name, record, recording)?,
                thread: flags.number(record)? & CLONE_THREAD != 0,
            },
            Content::Fork {
                parent,
                child,
                comm: name,
            } => KernelEventKind::Fork {
                parent: pid(parent)?,
                child: pid(child)?,
                child_comm: comm(name, record, recording)?,
            },
            Content::Exec(task) => KernelEventKind::Exec { pid: pid(task)? },
            Content::Rename(task, name) => KernelEventKind::Rename {
                pid: pid(task.as_ref().unwrap_or(&self.owner))?,
                comm: comm(name, record, recording)?,
            },
            Content::Exit(task) => KernelEventKind::Exit {
                task: task.read(record, recording)?,
            },
            Content::Yield => KernelEventKind::Yield {
                pid: pid(&self.owner)?,
            },
            Content::Runtime(who, name, ns) => KernelEventKind::Runtime {
                task: TaskRef {
                    pid: pid(who)?,
                    comm: comm(name, record, recording)?,
                    prio: None,
                },
                ns: ns.number(record)? as u64,
            },
            Content::Enter(number, arguments) => KernelEventKind::enter(
                pid(&self.owner)?,
                number.number(record)?,
                arguments.words(record)?,
            ),
            Content::EnterOne(number, each) => {
                let mut arguments = [0; 3];
                for (argument, field) in arguments.iter_mut().zip(each) {
                    *argument = field.number(record)? as u64;
                }
                KernelEventKind::enter(pid(&self.owner)?, number.number(record)?, arguments)
            }
            Content::Return(number, result) => KernelEventKind::Return {
                pid: pid(&self.owner)?,
                call: number.number(record)? as u16,
                result: result.number(record)?,
            },
        })
    }
}

impl TaskFields {
    fn read(&self, record: &[u8], recording: &mut Recording) -> Option<TaskRef> {
        Some(TaskRef {
            pid: Pid(self.pid.number(record)? as u32),
            comm: comm(&self.comm, record, recording)?,
            prio: match &self.prio {
                Some(prio) => Some(prio.number(record)? as i16),
                None => None,
            },
        })
    }
}

fn comm(field: &Field, record: &[u8], recording: &mut Recording) -> Option<Comm> {
    let text = field.text(record)?;
    Some(recording.comm(&String::from_utf8_lossy(text)))
}

impl StateField {
    /// The kernel's print format explains the bits. The lowest bit that is set has a letter. The
    /// bit above the last letter's bit means preempted inside the kernel.
    fn read(&self, record: &[u8]) -> Option<KernelState> {
        let bits = self.field.number(record)? as u64;
        let above = self.states.iter().map(|(bit, _)| bit << 1).max();
        let of_bit = self.states.iter().find(|(bit, _)| bits & bit != 0);
        Some(match of_bit {
            Some((_, state)) => *state,
            None if above.is_some_and(|above| bits & above != 0) => KernelState::PreemptedInKernel,
            None => KernelState::Runnable,
        })
    }
}

/// Looks for fields by their names.
struct Fields<'a>(&'a EventFormat);

impl Fields<'_> {
    fn content(&self) -> Result<Option<Content>, RecordingError> {
        let task = |prefix| self.task(prefix);
        Ok(Some(match self.0.name.as_str() {
            "sched_switch" => Content::Switch {
                prev: task("prev_")?,
                state: self.state()?,
                next: task("next_")?,
            },
            "sched_waking" => Content::Waking(task("")?, self.field("target_cpu")?),
            "sched_wakeup" | "sched_wakeup_new" => {
                Content::Wakeup(task("")?, self.field("target_cpu")?)
            }
            "sched_migrate_task" => {
                let (from, to) = (self.field("orig_cpu")?, self.field("dest_cpu")?);
                Content::Migrate(task("")?, from, to)
            }
            "task_newtask" => Content::NewTask {
                pid: self.field("pid")?,
                comm: self.field("comm")?,
                flags: self.field("clone_flags")?,
            },
            "sched_process_fork" => Content::Fork {
                parent: self.field("parent_pid")?,
                child: self.field("child_pid")?,
                comm: self.field("child_comm")?,
            },
            "sched_process_exec" => Content::Exec(self.field("pid")?),
            "task_rename" => Content::Rename(self.0.field("pid").cloned(), self.field("newcomm")?),
            "sched_process_exit" => Content::Exit(task("")?),
            YIELD | "sys_enter_sched_yield" => Content::Yield,
            "sched_stat_runtime" => Content::Runtime(
                self.field("pid")?,
                self.field("comm")?,
                self.field("runtime")?,
            ),
            "sys_enter" => Content::Enter(self.field("id")?, self.field("args")?),
            "sys_exit" => Content::Return(self.field("id")?, self.field("ret")?),
            one if one.starts_with("sys_enter_") => {
                Content::EnterOne(self.field("__syscall_nr")?, self.arguments())
            }
            one if one.starts_with("sys_exit_") => {
                Content::Return(self.field("__syscall_nr")?, self.field("ret")?)
            }
            _ => return Ok(None),
        }))
    }

    /// The first arguments of one system call.
    fn arguments(&self) -> Vec<Field> {
        let fields = self.0.fields.iter();
        let is_own = |field: &&Field| !field.name.starts_with("common_");
        let is_argument = |field: &&Field| !field.name.starts_with("__");
        fields
            .filter(is_own)
            .filter(is_argument)
            .take(3)
            .cloned()
            .collect()
    }

    fn field(&self, name: &str) -> Result<Field, RecordingError> {
        let field = self.0.field(name).cloned();
        field.ok_or_else(|| RecordingError::Format {
            event: self.0.name.clone(),
            problem: format!("no {name}"),
        })
    }

    fn task(&self, prefix: &str) -> Result<TaskFields, RecordingError> {
        Ok(TaskFields {
            pid: self.field(&format!("{prefix}pid"))?,
            comm: self.field(&format!("{prefix}comm"))?,
            prio: self.0.field(&format!("{prefix}prio")).cloned(),
        })
    }

    fn state(&self) -> Result<StateField, RecordingError> {
        let letters = self.0.flag_letters().into_iter();
        let mut states: Vec<(u64, KernelState)> = letters
            .map(|(bit, letters)| (bit, KernelState::of_letters(&letters)))
            .collect();
        states.sort_by_key(|(bit, _)| *bit);
        Ok(StateField {
            field: self.field("prev_state")?,
            states,
        })
    }
}
