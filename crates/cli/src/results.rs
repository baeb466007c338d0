//! How results are printed, and the files they are written to.

use std::io::{self, Write};
use std::path::Path;

use schedlab_lab::CommandLine;
use schedlab_report::table::Terminal;
use schedlab_report::{json, render_html, text, ReportInfo, Run};

use crate::arguments::Format;
use crate::failure::Failure;
use crate::outputs::{Finished, TextFile};
use crate::version::{program, VERSION};

/// The report and the JSON file a user asks for.
pub struct Files {
    report: Option<(TextFile, String)>,
    json: Option<TextFile>,
}

impl Files {
    /// Creates them before anything runs, so that an unwritable place is found at once.
    pub fn create(report: Option<&Path>, json: Option<&Path>) -> Result<Files, Failure> {
        let name = report.map(|path| path.display().to_string());
        Ok(Files {
            report: TextFile::create_if("--report", report, "html")?.zip(name),
            json: TextFile::create_if("--json", json, "json")?,
        })
    }

    /// The command that writes the same report.
    pub fn command(&self, command: CommandLine) -> String {
        let name = self.report.as_ref().map(|(_, name)| name.as_str());
        command.flag_if("--report", name).to_string()
    }

    /// Writes them: runs as they are, `info` for the report.
    pub fn write(self, runs: &[Run], info: &ReportInfo) -> Result<Vec<Finished>, Failure> {
        self.write_as(runs, info, || as_json(runs))
    }

    /// Writes them with a JSON text of the caller's.
    pub fn write_as(
        self,
        runs: &[Run],
        info: &ReportInfo,
        json: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<Vec<Finished>, Failure> {
        let mut finished = Vec::new();
        if let Some((file, _)) = self.report {
            let html = render_html(runs, info);
            finished.push(file.write(&html.map_err(|e| Failure::Other(e.to_string()))?)?);
        }
        if let Some(file) = self.json {
            finished.push(file.write(&json()?)?);
        }
        Ok(finished)
    }
}

/// The origin of a report.
pub fn report_info(command: String, machine: String) -> ReportInfo {
    ReportInfo {
        command,
        machine,
        version: program(),
    }
}

/// How a result is printed.
pub struct Form {
    pub format: Format,
    pub terminal: Terminal,
}

impl Form {
    /// For standard output.
    pub fn stdout(format: Format) -> Form {
        Form {
            format,
            terminal: Terminal::stdout(),
        }
    }

    /// Prints on standard error beside the output of a command: in short, unless as Markdown or JSON.
    pub fn tell(&self, runs: &[Run]) -> Result<(), Failure> {
        let text = match self.format {
            Format::Table => text::brief(runs, self.terminal),
            _ => self.text(runs)?,
        };
        // If standard error is closed, only the files and the status remain.
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }

    /// Runs in that form.
    pub fn text(&self, runs: &[Run]) -> Result<String, Failure> {
        match self.format {
            Format::Table => Ok(text::terminal(runs, self.terminal)),
            Format::Markdown => Ok(text::markdown(runs)),
            Format::Json => as_json(runs),
        }
    }
}

/// One run as an object, several as a comparison.
fn as_json(runs: &[Run]) -> Result<String, Failure> {
    match runs {
        [run] => json::run(run, VERSION),
        runs => json::comparison(runs, VERSION),
    }
    .map_err(|error| Failure::Other(error.to_string()))
}
