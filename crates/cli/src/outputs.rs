//! Output files: traces, reports and JSON.

use std::io;
use std::path::{Path, PathBuf};

use schedlab_input::Diagnostic;
use schedlab_trace::{
    AtomicFile, Event, FtraceSink, GroupInfo, PerfettoSink, Sink, TaskInfo, Time, TraceInfo,
};

use crate::failure::Failure;

/// The most trace files of one command.
const MAX_TRACES: usize = 100;

/// Starts a file that appears complete or not at all, even if a policy crashes.
fn create(path: &Path) -> Result<AtomicFile, Failure> {
    let file = AtomicFile::create(path).map_err(Failure::writing(path))?;
    if let Some(aside) = file.aside() {
        schedlab_policy::remove_on_crash(aside);
    }
    Ok(file)
}

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    Perfetto,
    Ftrace,
}

/// The trace files of a command.
#[derive(Clone)]
pub struct Traces {
    path: PathBuf,
    format: TraceFormat,
    always_labelled: bool,
}

impl Traces {
    /// The trace files that `--trace` asks for in a command of `nr_runs` runs.
    pub fn parse(path: &Path, nr_runs: usize) -> Result<Traces, Diagnostic> {
        let mistake = |problem: String| Diagnostic::new(problem).at("--trace", 0);
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let format = match extension {
            "pftrace" => TraceFormat::Perfetto,
            "ftrace" => TraceFormat::Ftrace,
            _ => {
                let known = ["pftrace", "ftrace"];
                return Err(
                    mistake(format!("\"{}\" has no known extension", path.display()))
                        .expected(".pftrace (Perfetto) or .ftrace (text)")
                        .suggest(extension, known),
                );
            }
        };
        if nr_runs > MAX_TRACES {
            return Err(mistake(format!("{nr_runs} runs would write as many files"))
                .expected(format!("at most {MAX_TRACES} runs with --trace")));
        }
        Ok(Traces {
            path: path.to_path_buf(),
            format,
            always_labelled: false,
        })
    }

    /// The same, with the run's name in the file's name even if there is only one run.
    pub fn always_labelled(&self) -> Traces {
        Traces {
            always_labelled: true,
            ..self.clone()
        }
    }

    /// Whether the file of a single run is named after it, too.
    pub fn names_every_run(&self) -> bool {
        self.always_labelled
    }

    /// The file of one run; `label` distinguishes it from the others, if there are any.
    pub fn path_of(&self, label: Option<&str>) -> PathBuf {
        let Some(label) = label else {
            return self.path.clone();
        };
        let part = |part: Option<&std::ffi::OsStr>| {
            part.unwrap_or_default().to_string_lossy().into_owned()
        };
        let (stem, extension) = (part(self.path.file_stem()), part(self.path.extension()));
        self.path
            .with_file_name(format!("{stem}-{label}.{extension}"))
    }

    /// Starts the file of one run.
    pub fn create(&self, path: PathBuf) -> Result<TraceFile, Failure> {
        let file = create(&path)?;
        let encoder = match self.format {
            TraceFormat::Perfetto => Encoder::Perfetto(Box::new(PerfettoSink::new(file))),
            TraceFormat::Ftrace => Encoder::Ftrace(Box::new(FtraceSink::new(file))),
        };
        Ok(TraceFile { path, encoder })
    }
}

/// A trace file that is being written.
pub struct TraceFile {
    path: PathBuf,
    encoder: Encoder,
}

enum Encoder {
    Perfetto(Box<PerfettoSink<AtomicFile>>),
    Ftrace(Box<FtraceSink<AtomicFile>>),
}

/// A complete file that still has its temporary name.
pub struct Finished {
    path: PathBuf,
    file: AtomicFile,
}

impl TraceFile {
    /// Writes the rest.
    pub fn finish(self) -> Result<Finished, Failure> {
        let file = match self.encoder {
            Encoder::Perfetto(sink) => sink.finish(),
            Encoder::Ftrace(sink) => sink.finish(),
        };
        Finished::of(self.path, file)
    }

    fn sink(&mut self) -> &mut dyn Sink {
        match &mut self.encoder {
            Encoder::Perfetto(sink) => sink.as_mut(),
            Encoder::Ftrace(sink) => sink.as_mut(),
        }
    }
}

impl Sink for TraceFile {
    fn begin(&mut self, info: &TraceInfo) {
        self.sink().begin(info);
    }
    fn group(&mut self, info: &GroupInfo) {
        self.sink().group(info);
    }
    fn task(&mut self, info: &TaskInfo) {
        self.sink().task(info);
    }
    fn event(&mut self, event: &Event) {
        self.sink().event(event);
    }
    fn end(&mut self, time: Time) {
        self.sink().end(time);
    }
}

impl Finished {
    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file that was written, or what went wrong.
    pub fn of(path: PathBuf, file: io::Result<AtomicFile>) -> Result<Finished, Failure> {
        match file {
            Ok(file) => Ok(Finished { path, file }),
            Err(error) => Err(Failure::writing(&path)(error)),
        }
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<(), Failure> {
        self.file.finish().map_err(Failure::writing(&self.path))
    }
}

/// A text file: the report, or the result as JSON.
pub struct TextFile {
    path: PathBuf,
    file: AtomicFile,
}

impl TextFile {
    /// Creates the file before anything runs, so that an unwritable place is found at once.
    pub fn create(flag: &str, path: &Path, extension: &str) -> Result<TextFile, Failure> {
        if path.extension().is_none_or(|e| e != extension) {
            let problem = format!("\"{}\" has another extension", path.display());
            let mistake = Diagnostic::new(problem).at(flag, 0);
            return Err(mistake
                .expected(format!("a name ending in .{extension}"))
                .into());
        }
        Ok(TextFile {
            path: path.to_path_buf(),
            file: create(path)?,
        })
    }

    /// The same, if the user asks for one.
    pub fn create_if(
        flag: &str,
        path: Option<&Path>,
        extension: &str,
    ) -> Result<Option<TextFile>, Failure> {
        path.map(|path| TextFile::create(flag, path, extension))
            .transpose()
    }

    /// Writes it.
    pub fn write(mut self, text: &str) -> Result<Finished, Failure> {
        let written = io::Write::write_all(&mut self.file, text.as_bytes());
        Finished::of(self.path, written.map(|()| self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_runs_each_has_its_own_file() {
        let traces = Traces::parse(Path::new("out/x.pftrace"), 2).unwrap();
        assert_eq!(traces.path_of(None), Path::new("out/x.pftrace"));
        let path = traces.path_of(Some("o1-2.6.10"));
        assert_eq!(path, Path::new("out/x-o1-2.6.10.pftrace"));
    }

    #[test]
    fn extensions_say_the_format() {
        let format = |path: &str| Traces::parse(Path::new(path), 1).map(|t| t.format);
        assert_eq!(format("a.b.pftrace"), Ok(TraceFormat::Perfetto));
        assert_eq!(format("x.ftrace"), Ok(TraceFormat::Ftrace));
        assert_eq!(
            format("x.ptrace").unwrap_err().nearest.as_deref(),
            Some("pftrace")
        );
        assert!(format("pftrace").is_err());
        assert!(Traces::parse(Path::new("x.ftrace"), MAX_TRACES + 1).is_err());
    }
}
