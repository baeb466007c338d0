//! Traces of replays: files of their own, or one archive with all of them on one timeline.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schedlab_report::Run;
use schedlab_trace::AtomicFile;
use serde_json::{json, Value};

use crate::failure::Failure;
use crate::outputs::{Finished, TraceFile, Traces};

use super::RECORDED;

/// The traces a replay writes.
pub struct ReplayTraces {
    /// How single traces are written; none: they are not.
    single: Option<Traces>,
    /// The recording's, while it is written.
    recorded: Option<TraceFile>,
    /// Those that are written, in order.
    finished: Vec<Finished>,
    archive: Option<Archive>,
}

/// An archive: traces are in a temporary folder until all are written.
struct Archive {
    path: PathBuf,
    file: AtomicFile,
    /// Removed with the archive.
    _folder: tempfile::TempDir,
}

impl ReplayTraces {
    /// What `--trace` asks for.
    pub fn parse(path: Option<&Path>, nr_runs: usize) -> Result<ReplayTraces, Failure> {
        let mut traces = ReplayTraces {
            single: None,
            recorded: None,
            finished: Vec::new(),
            archive: None,
        };
        let Some(path) = path else { return Ok(traces) };
        if path.extension().is_some_and(|extension| extension == "tar") {
            let folder = tempfile::tempdir().map_err(Failure::writing(path))?;
            let single = folder.path().join("x.pftrace");
            traces.single = Some(Traces::parse(&single, nr_runs)?);
            traces.archive = Some(Archive {
                path: path.to_path_buf(),
                file: AtomicFile::create(path).map_err(Failure::writing(path))?,
                _folder: folder,
            });
        } else {
            traces.single = Some(Traces::parse(path, nr_runs)?);
        }
        Ok(traces)
    }

    /// The file of the recording's own trace.
    pub fn recorded(&mut self) -> Result<Option<&mut TraceFile>, Failure> {
        if let Some(single) = &self.single {
            let path = single.path_of(Some(RECORDED));
            self.recorded = Some(single.create(path)?);
        }
        Ok(self.recorded.as_mut())
    }

    /// The files of the replays' traces.
    pub fn of_replays(&self) -> Option<Traces> {
        self.single.as_ref().map(Traces::always_labelled)
    }

    /// A replay's trace is written.
    pub fn take(&mut self, trace: &mut Option<Finished>) -> Result<(), Failure> {
        self.end_recorded()?;
        self.finished.extend(trace.take());
        Ok(())
    }

    fn end_recorded(&mut self) -> Result<(), Failure> {
        if let Some(recorded) = self.recorded.take() {
            self.finished.push(recorded.finish()?);
        }
        Ok(())
    }

    /// Complete files that have no names yet.
    pub fn finish(mut self, runs: &[Run]) -> Result<Vec<Finished>, Failure> {
        self.end_recorded()?;
        let Some(mut archive) = self.archive else {
            return Ok(self.finished);
        };
        let paths: Vec<PathBuf> = self
            .finished
            .iter()
            .map(|f| f.path().to_path_buf())
            .collect();
        self.finished.into_iter().try_for_each(Finished::keep)?;
        let skipped = paths.len() - runs.len().min(paths.len());
        let file = archive.pack(&paths[skipped..], runs);
        let Archive {
            path, file: whole, ..
        } = archive;
        Ok(vec![Finished::of(path, file.map(|()| whole))?])
    }
}

impl Archive {
    fn pack(&mut self, paths: &[PathBuf], runs: &[Run]) -> io::Result<()> {
        let mut tar = tar::Builder::new(&mut self.file);
        let names: Vec<String> = paths.iter().map(|path| member_name(path)).collect();
        let manifest = serde_json::to_string_pretty(&manifest(&names, runs))?;
        append(&mut tar, "perfetto_manifest.json", manifest.as_bytes())?;
        for (path, name) in paths.iter().zip(&names) {
            append(&mut tar, name, &fs::read(path)?)?;
        }
        tar.finish()
    }
}

/// A file's name in the archive: without the common stem.
fn member_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.trim_start_matches("x-").to_string()
}

/// Equal contents make equal archives: no times, no owners.
fn append<W: io::Write>(tar: &mut tar::Builder<W>, name: &str, data: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(data.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, data)
}

/// Metadata for Perfetto: each file is a machine of its own, and all begin at the same time.
fn manifest(names: &[String], runs: &[Run]) -> Value {
    let machine = |run: &Run| format!("{} {}", run.policy, run.variant).trim().to_string();
    let first = names.first().cloned().unwrap_or_default();
    let files = names
        .iter()
        .zip(runs)
        .enumerate()
        .map(|(index, (name, run))| {
            let mut file = json!({ "path": name, "machine": { "name": machine(run) } });
            if index > 0 {
                let other = json!({ "file": first, "clock": "BOOTTIME" });
                file["clocks"] = json!({ "clock": "BOOTTIME", "sync_to": other, "offset_ns": 0 });
            }
            file
        });
    let workload = runs.first().map(|run| run.workload.clone());
    json!({
        "perfetto_manifest": {
            "version": 1,
            "attributes": { "schedlab.workload": workload },
            "files": files.collect::<Vec<_>>(),
        }
    })
}
