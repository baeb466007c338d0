//! perf.data: the binary file of perf record.
//!
//! `tracepoint_perf` reads the container and the formats of its tracepoints; [`RecordLayout`] reads
//! a tracepoint's record by its format. A file also has records of names, forks and exits,
//! independent of the recorded tracepoints; they tell the process of each thread.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustc_hash::FxHashMap;
use schedlab_recording::{
    Comm, EventFormat, Field, KernelEventKind, Pid, Place, RecordLayout, Recording, RecordingError,
};
use schedlab_trace::{CpuId, Time};
use tracepoint_decode::{
    PerfEventAttrOptions, PerfEventAttrSampleType, PerfEventAttrType, PerfEventBytes,
    PerfEventDesc, PerfEventFormat, PerfEventHeader, PerfEventHeaderType, PerfFieldFormat,
};
use tracepoint_perf::{
    PerfDataFileError, PerfDataFileEventOrder, PerfDataFileReader, PerfHeaderIndex,
};

use crate::budget::{Budget, Inflated, TooLarge};
use crate::failure::Failure;
use crate::guard::guarded;
use crate::intake::{self, Intake};
use crate::report::{FileFormat, ReadReport};

/// Bytes of a record's header.
const HEADER: usize = 8;

/// The end of the data of a file in pipe mode, which is unknown.
const PIPE: u64 = u64::MAX;

/// The note for a recording made with `-F`.
const SAMPLED: &str = "only samples of its events were recorded (perf record -F): most are missing";

/// The size of one read, in bytes.
const PIECE: usize = 1 << 20;

/// Records of `perf record -z` that contain compressed records (`perf_event_type` in perf's
/// source).
const COMPRESSED: PerfEventHeaderType = PerfEventHeaderType(81);
const COMPRESSED2: PerfEventHeaderType = PerfEventHeaderType(83);

/// `PERF_RECORD_MISC_COMM_EXEC`: exec set the name.
const COMM_EXEC: u16 = 1 << 13;

/// Reads from a stream, through a temporary file: reading the container needs seeking.
pub fn read_stream(
    mut stream: impl Read,
    budget: &Budget,
) -> Result<(Recording, ReadReport), Failure> {
    let mut file = tempfile::NamedTempFile::new()?;
    io::copy(&mut stream, &mut file)?;
    file.flush()?;
    guarded(|| read_file(file.path(), budget))
}

/// Reads a file.
pub fn read(path: &Path, budget: &Budget) -> Result<(Recording, ReadReport), Failure> {
    budget.read(path.metadata()?.len());
    guarded(|| read_file(path, budget))
}

fn read_file(path: &Path, budget: &Budget) -> Result<(Recording, ReadReport), Failure> {
    let name = path.to_str();
    let name = name.ok_or_else(|| Failure::new("its path is not UTF-8"))?;
    let mut file = PerfDataFileReader::new();
    // Recording::finish sorts the events.
    let opened = file.open_file(name, PerfDataFileEventOrder::File);
    opened.map_err(|e| damaged(&e, "its head"))?;
    if file.data_begin_file_pos() == file.data_end_file_pos() {
        let problem = "the file has no events; perf record did not end properly";
        return Err(Failure::new(problem).expected("a complete perf.data"));
    }
    let mut reader = Reader::new(budget.clone());
    match file.data_end_file_pos() {
        PIPE => reader.stream(&mut file)?,
        end => {
            let begin = file.data_begin_file_pos();
            let mut section = File::open(path)?;
            section.seek(SeekFrom::Start(begin))?;
            reader.section(
                &file,
                BufReader::with_capacity(PIECE, section.take(end - begin)),
            )?;
        }
    }
    reader.finish(&file)
}

fn damaged(error: &io::Error, place: &str) -> Failure {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Failure::new(format!("{place}: the file is damaged or incomplete"))
                .expected("a complete perf.data")
        }
        _ => Failure::new(format!("{place}: {error}")),
    }
}

/// Reads a record with its header.
fn next_record(section: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<PerfEventHeader> {
    bytes.resize(HEADER, 0);
    section.read_exact(bytes)?;
    let header = header(bytes).ok_or(io::ErrorKind::InvalidData)?;
    bytes.resize(header.size.into(), 0);
    section.read_exact(&mut bytes[HEADER..])?;
    Ok(header)
}

/// The header of a record; `None` if the record is shorter than a header.
fn header(record: &[u8]) -> Option<PerfEventHeader> {
    let number = |at: usize| Some(u16::from_le_bytes([*record.get(at)?, *record.get(at + 1)?]));
    let header = PerfEventHeader {
        ty: PerfEventHeaderType(u32_at(record, 0)?),
        misc: number(4)?.into(),
        size: number(6)?,
    };
    (usize::from(header.size) >= HEADER).then_some(header)
}

struct Reader {
    intake: Intake,
    nr_records: u64,
    /// The tracepoints of the file, by their number.
    layouts: FxHashMap<u32, Tracepoint>,
    /// The names of threads from records; a fork's record has no name.
    names: FxHashMap<Pid, Comm>,
    /// Lost events, by the two kinds of records that count them.
    lost: u64,
    lost_samples: u64,
    /// Decompresses records of `perf record -z`.
    inflate: Option<zstd::stream::write::Decoder<'static, Inflated>>,
    budget: Budget,
    /// Events from records that are not samples.
    told: Vec<Told>,
    /// Times of the first and the last sample.
    span: Option<(Time, Time)>,
}

struct Told {
    time: Time,
    cpu: CpuId,
    tgid: Pid,
    kind: KernelEventKind,
}

enum Tracepoint {
    Needed(Box<RecordLayout>),
    Other,
}

impl Reader {
    fn new(budget: Budget) -> Reader {
        Reader {
            budget,
            intake: Intake::new(FileFormat::PerfData),
            nr_records: 0,
            layouts: FxHashMap::default(),
            names: FxHashMap::default(),
            lost: 0,
            lost_samples: 0,
            inflate: None,
            told: Vec::new(),
            span: None,
        }
    }

    fn place(&self) -> String {
        format!("after record {}", self.nr_records)
    }

    fn wrong(&self, problem: impl AsRef<str>) -> Failure {
        let (number, problem) = (self.nr_records, problem.as_ref());
        Failure::new(format!("record {number}: {problem}")).expected("a complete perf.data")
    }

    /// Reads the records of a file in pipe mode; their descriptions are records, too.
    fn stream(&mut self, file: &mut PerfDataFileReader) -> Result<(), Failure> {
        loop {
            let more = file.move_next_event();
            if !more.map_err(|e| damaged(&e, &self.place()))? {
                return Ok(());
            }
            self.record(file, &file.current_event())?;
        }
    }

    /// Reads the records of a file's data section. `PerfDataFileReader` would need two system calls
    /// for each record, more time than all other work.
    fn section(
        &mut self,
        file: &PerfDataFileReader,
        mut section: impl BufRead,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        while !section.fill_buf()?.is_empty() {
            let header = next_record(&mut section, &mut bytes);
            let header = header.map_err(|e| damaged(&e, &self.place()))?;
            self.record(file, &PerfEventBytes::new(header, &bytes))?;
            if header.ty == PerfEventHeaderType::Auxtrace {
                // Other data follows the record; the record contains its size.
                let size = u64_at(&bytes, HEADER).unwrap_or_default();
                io::copy(&mut (&mut section).take(size), &mut io::sink())?;
            }
        }
        Ok(())
    }

    fn record(
        &mut self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
    ) -> Result<(), Failure> {
        self.nr_records += 1;
        let body = &record.data[HEADER.min(record.data.len())..];
        match record.header.ty {
            PerfEventHeaderType::Sample => self.sample(file, record),
            PerfEventHeaderType::Comm => self.comm(file, record, body),
            PerfEventHeaderType::Fork => self.fork(file, record, body),
            PerfEventHeaderType::Exit => self.exit(file, record, body),
            PerfEventHeaderType::Lost => {
                let lost = u64_at(body, 8).ok_or_else(|| self.wrong("it is too short"))?;
                self.lost = self.lost.saturating_add(lost);
                self.intake.lost(None);
                Ok(())
            }
            PerfEventHeaderType::LostSamples => {
                let lost = u64_at(body, 0).ok_or_else(|| self.wrong("it is too short"))?;
                self.lost_samples = self.lost_samples.saturating_add(lost);
                Ok(())
            }
            COMPRESSED => self.compressed(file, body),
            COMPRESSED2 => {
                let length = u64_at(body, 0).and_then(|length| usize::try_from(length).ok());
                let data = length.and_then(|length| body.get(8..)?.get(..length));
                let data = data.ok_or_else(|| self.wrong("it is too short"))?;
                self.compressed(file, data)
            }
            _ => Ok(()),
        }
    }

    fn sample(
        &mut self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
    ) -> Result<(), Failure> {
        let sample = Sample::of(file, record);
        let sample = sample.map_err(|e| match e {
            PerfDataFileError::NoData => self.wrong("samples have no event id"),
            e => self.wrong(format!("a damaged sample ({e})")),
        })?;
        let description = sample.description;
        let number = description.attr().config as u32;
        if description.attr().attr_type != PerfEventAttrType::Tracepoint {
            self.intake.ignore(description.name());
            return Ok(());
        }
        if !self.layouts.contains_key(&number) {
            if description
                .attr()
                .options
                .has_flag(PerfEventAttrOptions::Freq)
            {
                self.intake.report.is_sampled = true;
                self.intake.note(SAMPLED);
            }
            let tracepoint = tracepoint(description)?;
            if description
                .format()
                .is_some_and(|format| format.name() == "sched_wakeup")
            {
                self.intake.has_wakeups();
            }
            self.layouts.insert(number, tracepoint);
        }
        let Tracepoint::Needed(layout) = &self.layouts[&number] else {
            self.intake.ignore(description.name());
            return Ok(());
        };
        let kind = layout.read(sample.raw, &mut self.intake.recording);
        let kind = kind.ok_or_else(|| {
            self.wrong(format!("{} is shorter than its format", description.name()))
        })?;
        let cpu = intake::cpu(sample.cpu.into());
        let cpu = cpu.ok_or_else(|| self.wrong(format!("CPU number {} is invalid", sample.cpu)))?;
        let time = Time(sample.time);
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
        self.intake.push(time, cpu, kind);
        Ok(())
    }

    /// Keeps an event from a record that is not a sample.
    fn tell(&mut self, (time, cpu): (Time, CpuId), tgid: Pid, kind: KernelEventKind) {
        self.told.push(Told {
            time,
            cpu,
            tgid,
            kind,
        });
    }

    /// Adds the events from records that are not samples. perf records names and forks before it
    /// samples: earlier events describe the state at the start and are not part of the recording.
    fn take_told(&mut self, file: &PerfDataFileReader) {
        let formats = || {
            file.event_desc_list()
                .iter()
                .filter_map(PerfEventDesc::format)
        };
        let has = |name: &str| formats().any(|format| format.name() == name);
        let has_forks = has("sched_process_fork");
        let has_exits = has("sched_process_exit");
        let (start, end) = self.span.unwrap_or_default();
        // They are added late here, but they are in order in the file.
        let nr_out_of_order = self.intake.report.nr_out_of_order;
        for told in std::mem::take(&mut self.told) {
            match told.kind {
                // The tracepoint has more details.
                KernelEventKind::Fork { .. } if has_forks => {}
                KernelEventKind::Exit { .. } if has_exits => {}
                _ if (start..=end).contains(&told.time) => {
                    self.intake.push(told.time, told.cpu, told.kind);
                }
                KernelEventKind::NewTask { pid, .. } | KernelEventKind::Rename { pid, .. } => {
                    self.intake.recording.thread(pid, told.tgid);
                }
                _ => {}
            }
        }
        self.intake.report.nr_out_of_order = nr_out_of_order;
    }

    /// Time and CPU of a record that is not a sample; `None` if perf wrote it to describe the state
    /// at the start.
    fn when(
        &self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
    ) -> Option<(Time, CpuId)> {
        let info = file.get_non_sample_event_info(record).ok()?;
        let cpu = intake::cpu(info.cpu.into())?;
        (info.time > 0).then_some((Time(info.time), cpu))
    }

    /// Reads a name: process, thread, name.
    fn comm(
        &mut self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
        body: &[u8],
    ) -> Result<(), Failure> {
        let ids = u32_at(body, 0).zip(u32_at(body, 4));
        let (tgid, tid) = ids.ok_or_else(|| self.wrong("it is too short"))?;
        let name = body[8..]
            .split(|&byte| byte == 0)
            .next()
            .unwrap_or_default();
        let comm = self.intake.comm(&String::from_utf8_lossy(name));
        let pid = Pid(tid);
        self.names.insert(pid, comm);
        let Some(when) = self.when(file, record) else {
            self.intake.recording.thread(pid, Pid(tgid));
            return Ok(());
        };
        if record.header.misc.0 & COMM_EXEC != 0 {
            self.tell(when, Pid(tgid), KernelEventKind::Exec { pid });
        }
        self.tell(when, Pid(tgid), KernelEventKind::Rename { pid, comm });
        Ok(())
    }

    /// Reads a fork: process, parent's process, thread, parent's thread.
    fn fork(
        &mut self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
        body: &[u8],
    ) -> Result<(), Failure> {
        let [tgid, parent_tgid, child, parent] = self.four_ids(body)?;
        let Some(when) = self.when(file, record) else {
            self.intake.recording.thread(child, tgid);
            return Ok(());
        };
        let known = self.names.get(&parent).copied();
        let comm = known.unwrap_or_else(|| self.intake.comm("?"));
        self.names.insert(child, comm);
        let new = KernelEventKind::NewTask {
            pid: child,
            comm,
            thread: tgid == parent_tgid,
        };
        self.tell(when, tgid, new);
        let fork = KernelEventKind::Fork {
            parent,
            child,
            child_comm: comm,
        };
        self.tell(when, tgid, fork);
        Ok(())
    }

    fn exit(
        &mut self,
        file: &PerfDataFileReader,
        record: &PerfEventBytes<'_>,
        body: &[u8],
    ) -> Result<(), Failure> {
        let [tgid, _, pid, _] = self.four_ids(body)?;
        let when = self.when(file, record);
        if let Some(when) = when {
            let known = self.names.get(&pid).copied();
            let comm = known.unwrap_or_else(|| self.intake.comm("?"));
            let task = intake::task(pid, comm, None);
            self.tell(when, tgid, KernelEventKind::Exit { task });
        }
        Ok(())
    }

    fn four_ids(&self, body: &[u8]) -> Result<[Pid; 4], Failure> {
        let ids = [0, 4, 8, 12].map(|at| u32_at(body, at).map(Pid));
        match ids {
            [Some(a), Some(b), Some(c), Some(d)] => Ok([a, b, c, d]),
            _ => Err(self.wrong("it is too short")),
        }
    }

    /// Decompresses records; the rest of the last one may be in the next piece.
    fn compressed(&mut self, file: &PerfDataFileReader, data: &[u8]) -> Result<(), Failure> {
        let mut inflate = match self.inflate.take() {
            Some(inflate) => inflate,
            None => zstd::stream::write::Decoder::new(Inflated::new(self.budget.clone()))?,
        };
        let inflated = inflate.write_all(data).and_then(|()| inflate.flush());
        inflated.map_err(|error| match TooLarge::of(&error) {
            Some(_) => error.into(),
            None => self.wrong("its zstd data is damaged"),
        })?;
        let bytes = std::mem::take(&mut inflate.get_mut().bytes);
        let mut left = &bytes[..];
        while left.len() >= HEADER {
            let header = header(left);
            let header = header.ok_or_else(|| self.wrong("a damaged record in its zstd data"))?;
            let Some(record) = left.get(..header.size.into()) else {
                break;
            };
            if header.ty == COMPRESSED || header.ty == COMPRESSED2 {
                return Err(self.wrong("compressed twice"));
            }
            self.record(file, &PerfEventBytes::new(header, record))?;
            left = &left[record.len()..];
        }
        inflate.get_mut().bytes.extend_from_slice(left);
        self.inflate = Some(inflate);
        Ok(())
    }

    fn finish(mut self, file: &PerfDataFileReader) -> Result<(Recording, ReadReport), Failure> {
        if self
            .inflate
            .as_ref()
            .is_some_and(|inflate| !inflate.get_ref().bytes.is_empty())
        {
            return Err(
                Failure::new("its last record is cut short").expected("a complete perf.data")
            );
        }
        self.take_told(file);
        let release = file.header_string(PerfHeaderIndex::OSRelease);
        if !release.is_empty() {
            let release = String::from_utf8_lossy(release);
            self.intake.recording.release = Some(release.into_owned());
        }
        // Two numbers: available CPUs, online CPUs.
        if let Some(online) = u32_at(file.header(PerfHeaderIndex::NrCpus), 4) {
            self.intake.cpus(online.into());
        }
        // Both kinds of records count the same losses.
        self.intake.recording.nr_lost = self.lost.max(self.lost_samples);
        if self.lost_samples > 0 && self.lost == 0 {
            self.intake.report.nr_gaps += 1;
        }
        self.intake.finish()
    }
}

/// The header of a sample, and the tracepoint's record in it.
struct Sample<'a> {
    description: &'a PerfEventDesc,
    time: u64,
    cpu: u32,
    raw: &'a [u8],
}

impl<'a> Sample<'a> {
    fn of(
        file: &'a PerfDataFileReader,
        record: &PerfEventBytes<'a>,
    ) -> Result<Sample<'a>, PerfDataFileError> {
        match (file.get_sample_event_info(record), file.event_desc_list()) {
            (Ok(info), _) => Ok(Sample {
                description: info.event_desc,
                time: info.time,
                cpu: info.cpu,
                raw: info.raw_data(),
            }),
            // A recording with one event may omit the event's id; an event may be described twice.
            (Err(PerfDataFileError::NoData), [others @ .., only])
                if others.iter().all(|other| {
                    other.attr().config == only.attr().config
                        && other.attr().attr_type == only.attr().attr_type
                }) =>
            {
                let sample = Sample::of_only(only, record.data);
                sample.ok_or(PerfDataFileError::InvalidData)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// A sample without an id: its fields in the order of perf_event_open(2).
    fn of_only(description: &'a PerfEventDesc, data: &'a [u8]) -> Option<Sample<'a>> {
        type Kind = PerfEventAttrSampleType;
        let has = |kind| description.attr().sample_type.has_flag(kind);
        if has(Kind::Read) || has(Kind::Callchain) || !has(Kind::Raw) {
            return None;
        }
        let mut at = HEADER;
        let mut field = |kind| {
            let here = at;
            at += if has(kind) { 8 } else { 0 };
            here
        };
        let _ = [Kind::IP, Kind::Tid].map(&mut field);
        let time = field(Kind::Time);
        let _ = [Kind::Addr, Kind::StreamId].map(&mut field);
        let cpu = field(Kind::Cpu);
        let _ = field(Kind::Period);
        let size = u32_at(data, at)? as usize;
        Some(Sample {
            description,
            time: u64_at(data, time)?,
            cpu: u32_at(data, cpu)?,
            raw: data.get(at + 4..)?.get(..size)?,
        })
    }
}

fn tracepoint(description: &PerfEventDesc) -> Result<Tracepoint, Failure> {
    let name = description.name();
    let Some(format) = description.format() else {
        let problem = format!("the file has no format of {name}");
        return Err(Failure::new(problem).expected("a complete perf.data"));
    };
    let layout = RecordLayout::new(event_format(format));
    let layout = layout.map_err(|e: RecordingError| Failure::new(e.to_string()))?;
    Ok(layout.map_or(Tracepoint::Other, |layout| {
        Tracepoint::Needed(Box::new(layout))
    }))
}

fn event_format(format: &PerfEventFormat) -> EventFormat {
    EventFormat {
        name: format.name().to_string(),
        id: format.id(),
        fields: format.fields().iter().map(field).collect(),
        print: format.print_fmt().to_string(),
    }
}

fn field(field: &PerfFieldFormat) -> Field {
    let declaration = field.field();
    Field {
        name: field.name().to_string(),
        offset: field.offset().into(),
        size: field.size().into(),
        signed: field.signed() == Some(true),
        place: match declaration {
            d if d.contains("__data_loc") => Place::FromStart,
            d if d.contains("__rel_loc") => Place::FromField,
            _ => Place::Here,
        },
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
