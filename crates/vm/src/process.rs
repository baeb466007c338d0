//! Programs of the host: running them without waiting for ever.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::VmError;

/// Says whether to give up: a signal came, or somebody else failed.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Time between two looks at a program.
pub const BEAT: Duration = Duration::from_millis(10);

/// A program that does not outlive this value.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended already; either way it is gone after this.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end; what it wrote to its standard output.
pub fn output_of(mut command: Command, stop: Stop) -> Result<String, VmError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |problem: String| VmError::Tool(format!("{name}: {problem}"));
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|e| failed(e.to_string()))?;
    let mut child = Killed(child);
    let stdout = read_aside(child.0.stdout.take());
    let stderr = read_aside(child.0.stderr.take());
    let status = loop {
        match child.0.try_wait().map_err(|e| failed(e.to_string()))? {
            Some(status) => break status,
            None if stop() => return Err(VmError::Interrupted),
            None => thread::sleep(BEAT),
        }
    };
    let [stdout, stderr] = [stdout, stderr].map(|reader| reader.join().unwrap_or_default());
    match status.success() {
        true => Ok(stdout),
        false => Err(failed(format!("{status}: {}", stderr.trim()))),
    }
}

/// Reads a pipe to its end in a thread of its own, so that no pipe fills up.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = |mut pipe| io::Read::read_to_end(&mut pipe, &mut bytes);
        // What was read before an error is worth as much as all.
        let _ = pipe.map(read);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str, stop: Stop) -> Result<String, VmError> {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        output_of(command, stop)
    }

    #[test]
    fn output_and_failures_come_back() {
        let never = &|| false;
        assert_eq!(shell("echo out; echo err >&2", never).unwrap(), "out\n");
        let problem = shell("echo why >&2; exit 3", never).unwrap_err();
        assert_eq!(problem.to_string(), "sh: exit status: 3: why");
    }

    #[test]
    fn a_program_is_stopped() {
        let stopped = shell("exec sleep 1000", &|| true);
        assert!(matches!(stopped, Err(VmError::Interrupted)));
    }
}
