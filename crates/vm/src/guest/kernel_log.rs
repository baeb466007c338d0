//! The lines of the kernel's log that a user should see.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

/// Levels up to this one are complaints: emergency 0 to warning 4.
const WARNING: u32 = 4;

/// Lines with this text are always shown: they explain why a scheduler ended.
const ALWAYS: &str = "sched_ext:";

/// Exceptions, which occur in every run: a scheduler is enabled or unloaded.
const USUAL: [&str; 2] = ["\" enabled", "(unregistered from user space)"];

/// Warnings and errors of the kernel since `time_ns`, one a line.
pub fn complaints_since(time_ns: u64) -> String {
    let lines = records()
        .into_iter()
        .filter_map(|record| complaint(&record, time_ns));
    lines.map(|line| line + "\n").collect()
}

/// All records in the log; none if it cannot be read.
fn records() -> Vec<String> {
    let mut records = Vec::new();
    let log = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/kmsg");
    let Ok(mut log) = log else { return records };
    let mut record = [0; 8192];
    loop {
        match log.read(&mut record) {
            Ok(count) if count > 0 => {
                records.push(String::from_utf8_lossy(&record[..count]).into_owned());
            }
            // The kernel overwrote records: the next read continues after them.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            _ => return records,
        }
    }
}

/// The text of a record ("6,123,4567,-;text", the time in µs), if it is a warning or an error.
fn complaint(record: &str, since_ns: u64) -> Option<String> {
    let (prefix, text) = record.split_once(';')?;
    let mut fields = prefix.split(',');
    let level = fields.next()?.parse::<u32>().ok()? & 7;
    let time_us: u64 = fields.nth(1)?.parse().ok()?;
    let text = text.lines().next()?;
    let is_usual = text.contains(ALWAYS) && USUAL.iter().any(|end| text.ends_with(end));
    let wanted = level <= WARNING || text.contains(ALWAYS) && !is_usual;
    (wanted && time_us >= since_ns / 1000).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_told_from_chatter() {
        let since = 2_000_000;
        let record = |level: u32, time_us: u64, text: &str| {
            complaint(
                &format!("{level},77,{time_us},-;{text}\n SUBSYSTEM=x\n"),
                since,
            )
        };
        assert_eq!(record(3, 2_000, "bad").as_deref(), Some("bad"));
        // Facility 1 (user) is 8: the level is in the low three bits.
        assert_eq!(record(8 + 4, 2_001, "warn").as_deref(), Some("warn"));
        assert_eq!(record(6, 2_001, "chatter"), None);
        assert_eq!(record(3, 1_999, "before"), None);
        let why = "sched_ext: BPF scheduler \"x\" disabled (runnable task stall)";
        assert_eq!(record(6, 2_001, why).as_deref(), Some(why));
        let usual = "sched_ext: BPF scheduler \"x\" enabled";
        assert_eq!(record(6, 2_001, usual), None);
        let usual = "sched_ext: BPF scheduler \"x\" disabled (unregistered from user space)";
        assert_eq!(record(6, 2_001, usual), None);
        assert_eq!(complaint("no record", since), None);
    }
}
