//! A recording as a `perf.data`, which schedlab reads but has no other reason to write.

use std::collections::BTreeMap;
use std::io;

use schedlab_recording::{KernelEvent, KernelEventKind, KernelState, Recording, TaskRef};
use tracepoint_decode::{
    PerfEventAttrSampleType as Kind, PerfEventDesc, PerfEventFormat, PerfEventHeaderType,
};
use tracepoint_perf::{PerfDataFileEventOrder, PerfDataFileReader, PerfDataFileWriter};

/// A file perf recorded: what it says of each tracepoint is said here, too.
const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/readers/tests/samples/perf.data"
);

/// Writes a recording of `perf record`; of events its tracepoints are not for, nothing.
///
/// # Errors
/// Those of reading the model and of writing.
pub fn write_perf_data(recording: &Recording, path: &str) -> io::Result<()> {
    let mut model = PerfDataFileReader::new();
    model.open_file(MODEL, PerfDataFileEventOrder::File)?;
    let mut file = PerfDataFileWriter::new();
    file.create_file(path)?;
    file.set_tracing_data_required(
        model.tracing_data_long_size(),
        model.tracing_data_page_size(),
    );
    let mut tracepoints = BTreeMap::new();
    for tracepoint in model.event_desc_list() {
        let Some(format) = tracepoint.format_arc() else {
            continue;
        };
        let (ids, attr) = (tracepoint.ids(), tracepoint.attr());
        if file.add_tracepoint_event_desc(ids, attr, tracepoint.name(), format) {
            tracepoints.insert(format.name(), (tracepoint, &**format));
        }
    }
    let mut samples = Vec::new();
    for event in recording.events() {
        let Some(name) = name(event.kind) else {
            continue;
        };
        let (tracepoint, format) = tracepoints[name];
        let record = Record::of(recording, format, event.kind);
        push_sample(tracepoint, event, &record, &mut samples);
    }
    file.write_event_data(&samples)?;
    file.finalize_and_close()
}

/// The tracepoint that says so.
fn name(kind: KernelEventKind) -> Option<&'static str> {
    Some(match kind {
        KernelEventKind::Switch { .. } => "sched_switch",
        KernelEventKind::Waking { .. } => "sched_waking",
        KernelEventKind::Wakeup { .. } => "sched_wakeup",
        KernelEventKind::Migrate { .. } => "sched_migrate_task",
        KernelEventKind::Fork { .. } => "sched_process_fork",
        KernelEventKind::Exit { .. } => "sched_process_exit",
        _ => return None,
    })
}

/// A sample's fields stand in this order (perf_event_open(2)), the record behind them.
fn push_sample(
    tracepoint: &PerfEventDesc,
    event: &KernelEvent,
    record: &[u8],
    samples: &mut Vec<u8>,
) {
    let begin = samples.len();
    let id = tracepoint.ids().first().copied().unwrap_or_default();
    samples.extend([0; 8]);
    for (kind, value) in [
        (Kind::Identifier, id),
        (Kind::IP, 0),
        (Kind::Tid, 0),
        (Kind::Time, event.time.0),
        (Kind::Addr, 0),
        (Kind::Id, id),
        (Kind::StreamId, id),
        (Kind::Cpu, event.cpu.0.into()),
        (Kind::Period, 1),
    ] {
        if tracepoint.attr().sample_type.has_flag(kind) {
            samples.extend(value.to_le_bytes());
        }
    }
    // With its length it is a multiple of 8 bytes, as all samples are.
    let length = (4 + record.len()).next_multiple_of(8) - 4;
    samples.extend((length as u32).to_le_bytes());
    samples.extend(record);
    samples.resize(begin + (samples.len() - begin).next_multiple_of(8), 0);
    let size = (samples.len() - begin) as u16;
    samples[begin..begin + 4].copy_from_slice(&PerfEventHeaderType::Sample.0.to_le_bytes());
    samples[begin + 6..begin + 8].copy_from_slice(&size.to_le_bytes());
}

/// A tracepoint's record on its way out.
struct Record<'a> {
    recording: &'a Recording,
    format: &'a PerfEventFormat,
    bytes: Vec<u8>,
}

impl<'a> Record<'a> {
    fn of(recording: &'a Recording, format: &'a PerfEventFormat, kind: KernelEventKind) -> Vec<u8> {
        let ends = format.fields().iter().map(|f| f.offset() + f.size());
        let mut record = Record {
            recording,
            format,
            bytes: vec![0; ends.max().unwrap_or_default().into()],
        };
        record.number("common_type", format.id().into());
        record.say(kind);
        record.bytes
    }

    fn say(&mut self, kind: KernelEventKind) {
        match kind {
            KernelEventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                self.task("prev_", prev);
                self.number("prev_state", bits(prev_state));
                self.task("next_", next);
            }
            KernelEventKind::Waking { task, target, .. }
            | KernelEventKind::Wakeup { task, target, .. } => {
                self.task("", task);
                self.number("target_cpu", target.0.into());
            }
            KernelEventKind::Migrate { task, from, to } => {
                self.task("", task);
                self.number("orig_cpu", from.0.into());
                self.number("dest_cpu", to.0.into());
            }
            KernelEventKind::Fork {
                parent,
                child,
                child_comm,
            } => {
                self.number("parent_pid", parent.0.into());
                self.number("child_pid", child.0.into());
                self.text("child_comm", self.recording.name(child_comm));
            }
            KernelEventKind::Exit { task } => self.task("", task),
            _ => {}
        }
    }

    fn task(&mut self, prefix: &str, task: TaskRef) {
        self.number(&format!("{prefix}pid"), task.pid.0.into());
        self.number(
            &format!("{prefix}prio"),
            task.prio.unwrap_or_default().into(),
        );
        self.text(&format!("{prefix}comm"), self.recording.name(task.comm));
    }

    /// Bytes of a field: offset, size, and whether only the place of its text stands there.
    fn field(&self, name: &str) -> (usize, usize, bool) {
        let mut fields = self.format.fields().iter();
        let field = fields.find(|field| field.name() == name);
        let field = field.unwrap_or_else(|| panic!("{} has no {name}", self.format.name()));
        let is_elsewhere = field.field().contains("__data_loc");
        (field.offset().into(), field.size().into(), is_elsewhere)
    }

    fn number(&mut self, name: &str, number: i64) {
        let (offset, size, _) = self.field(name);
        self.bytes[offset..offset + size].copy_from_slice(&number.to_le_bytes()[..size]);
    }

    fn text(&mut self, name: &str, text: &str) {
        let (offset, size, is_elsewhere) = self.field(name);
        if is_elsewhere {
            let place = (text.len() + 1) << 16 | self.bytes.len();
            self.number(name, place as i64);
            self.bytes.extend(text.bytes().chain([0]));
            return;
        }
        // The kernel's names end with a NUL.
        let text = &text.as_bytes()[..text.len().min(size - 1)];
        self.bytes[offset..offset + text.len()].copy_from_slice(text);
    }
}

/// The bits of a state, as they are since Linux 4.14.
fn bits(state: KernelState) -> i64 {
    match state {
        KernelState::Runnable => 0,
        KernelState::Sleeping => 0x01,
        KernelState::DiskSleep => 0x02,
        KernelState::Stopped => 0x04,
        KernelState::Dead => 0x20,
        KernelState::Parked => 0x40,
        KernelState::Idle => 0x80,
        KernelState::PreemptedInKernel => 0x100,
    }
}
