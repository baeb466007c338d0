//! A search in a process of its own: a hook that crashes, or does not return, ends that process alone.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use schedlab_check::{shrink, Broken, Case, Found};
use schedlab_lab::choose::spelled;
use schedlab_policy::Tuned;
use tempfile::TempDir;

use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;

use super::{described, print, show};

/// Time between two looks at a process that has not ended.
const BEAT: Duration = Duration::from_millis(5);

/// Searches in another process.  If that crashes, looks for the seed and the smallest case that crash.
pub fn guarded(
    arguments: &CheckArguments,
    tuned: &Tuned,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let workers = Workers::new(interrupt)?;
    let words = || std::env::args_os().skip(1);
    let ended = workers.run(words().chain(["--worker".into()]))?;
    let Some(message) = ended.crash() else {
        return ended.pass_on();
    };
    let file = workers.folder.path().join("seed");
    let flags: [OsString; 2] = ["--worker".into(), file.clone().into()];
    let again = workers.run(words().chain(flags))?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    let (Some(message), Ok(seed)) = (again.crash(), text.parse::<u64>()) else {
        // It crashes only beside other runs.
        return Err(Failure::Ended(Exit::PolicyFault, message));
    };
    let search = described(arguments, tuned, true)?;
    let policy = spelled(&(arguments.policy.clone(), tuned.clone()));
    let mut broken = crashed(message);
    let case = shrink(&search.case(seed), |case| {
        let now = workers.crash_of(case, &policy).ok().flatten().map(crashed);
        let Some(now) = now.filter(|now| now.is_like(&broken)) else {
            return false;
        };
        broken = now;
        true
    });
    interrupt.check()?;
    let found = Found {
        seed,
        nr_runs: 1,
        case,
        is_shrunk: true,
        broken,
    };
    let out = format!(
        "{}: the search ended at seed {seed}, where a hook crashes\n",
        tuned.full_name()
    );
    show(arguments, &policy, out, &[found])?;
    Ok(Exit::PolicyFault)
}

/// What a crash breaks.
fn crashed(message: String) -> Broken {
    let hook = message.split_once(", hook ").map(|(_, rest)| rest);
    let hook = hook.and_then(|rest| rest.split_once(':'));
    Broken {
        id: "hook-crashes".into(),
        hook: hook.map(|(name, _)| name.to_string()),
        is_failure: true,
        message,
    }
}

/// Runs this program again.
struct Workers<'a> {
    folder: TempDir,
    interrupt: &'a Interrupt,
}

/// What a process left behind.
struct Ended {
    status: ExitStatus,
    out: String,
    errors: String,
}

impl Workers<'_> {
    fn new(interrupt: &Interrupt) -> Result<Workers<'_>, Failure> {
        let folder = tempfile::tempdir().map_err(|e| Failure::Other(e.to_string()))?;
        Ok(Workers { folder, interrupt })
    }

    fn run(&self, words: impl Iterator<Item = OsString>) -> Result<Ended, Failure> {
        let system = |e: std::io::Error| Failure::Other(format!("check: {e}"));
        let path = |name: &str| self.folder.path().join(name);
        let create = |name: &str| File::create(path(name)).map_err(system);
        let mut child = Command::new(std::env::current_exe().map_err(system)?)
            .args(words)
            .stdin(Stdio::null())
            .stdout(create("out")?)
            .stderr(create("errors")?)
            .spawn()
            .map_err(system)?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(system)? {
                break status;
            }
            if self.interrupt.signal().is_some() {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                child.wait().map_err(system)?;
                self.interrupt.check()?;
            }
            self.interrupt.sleep(BEAT);
        };
        self.interrupt.check()?;
        let read = |name: &str| fs::read(path(name)).map_err(system);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Ended {
            status,
            out: text(read("out")?),
            errors: text(read("errors")?),
        })
    }

    /// The message of a case that crashes.
    fn crash_of(&self, case: &Case, policy: &str) -> Result<Option<String>, Failure> {
        let path = |name: &str| self.folder.path().join(name);
        let write =
            |path: &Path, text: String| fs::write(path, text).map_err(Failure::writing(path));
        let (workload, machine) = (path("workload.toml"), path("machine.toml"));
        write(&workload, case.text())?;
        let named = case.platform.name().map(OsString::from);
        if let Some(text) = case.platform.text() {
            write(&machine, text)?;
        }
        let now = &case.circumstances;
        let mut words: Vec<OsString> = vec![
            "check".into(),
            policy.into(),
            "--workload".into(),
            workload.into(),
            "--machine".into(),
            named.unwrap_or(machine.into()),
            "--seed".into(),
            now.seed.to_string().into(),
        ];
        let refuse_locks = now.refuse_locks.map(u64::from);
        for (flag, number) in [("--order", now.order), ("--refuse-locks", refuse_locks)] {
            words.extend(
                number
                    .into_iter()
                    .flat_map(|n| [flag.into(), n.to_string().into()]),
            );
        }
        Ok(self.run(words.into_iter())?.crash())
    }
}

impl Ended {
    /// The message, if a hook ended the process.
    fn crash(&self) -> Option<String> {
        let fault = Exit::PolicyFault as i32;
        let crashed = self.status.code().is_none_or(|code| code == fault) && self.out.is_empty();
        crashed.then(|| {
            let line = self.errors.lines().rfind(|line| line.contains(", hook "));
            let line = line
                .or(self.errors.lines().last())
                .unwrap_or("a hook crashed");
            line.trim_start_matches("schedlab: ").to_string()
        })
    }

    /// Prints its result, or fails as it failed.  Warnings of the compiler were printed before.
    fn pass_on(&self) -> Result<Exit, Failure> {
        let of =
            |(exit, _): &(Exit, &str)| (Some(*exit as i32) == self.status.code()).then_some(*exit);
        let exit = Exit::ALL.iter().find_map(of).unwrap_or(Exit::System);
        if self.out.is_empty() {
            let message = self.errors.lines().last().unwrap_or("the search ended");
            let message = message.trim_start_matches("schedlab: ");
            return Err(Failure::Ended(exit, message.to_string()));
        }
        print(&self.out).map(|()| exit)
    }
}
