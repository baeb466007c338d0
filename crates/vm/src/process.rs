//! Runs programs of the host; a run can be stopped.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::VmError;

/// Returns true when the caller should stop, after a signal or an error elsewhere.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Time between two checks of a program.
pub const BEAT: Duration = Duration::from_millis(10);

/// A child process that is killed when this is dropped.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // An error means that it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end; returns its standard output.
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

/// Reads a pipe to its end in a thread, so that the pipe never fills up.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = |mut pipe| io::Read::read_to_end(&mut pipe, &mut bytes);
        // After an error, keep the part that was read.
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
