//! Recognises kernel threads by their names.
//!
//! A recording may not say which tasks are kernel threads, and never says which are bound to a CPU.
//! The name of a bound thread ends with the CPU's number.

/// Kernel threads of each CPU, named NAME/CPU.
const OF_EACH_CPU: &[&str] = &[
    "cpuhp",
    "idle_inject",
    "ksoftirqd",
    "ktimers",
    "migration",
    "rcuc",
    "rcuop",
    "watchdog",
    "backlog_napi",
];

/// Prefixes of the names of other kernel threads.
const OTHERS: &[&str] = &[
    "jbd2/",
    "kauditd",
    "kblockd",
    "kcompactd",
    "kdamond",
    "kdevtmpfs",
    "khugepaged",
    "khungtaskd",
    "kswapd",
    "ksmd",
    "kthreadd",
    "kworker/",
    "md",
    "napi/",
    "oom_reaper",
    "rcu_",
    "scsi_eh_",
    "writeback",
    "irq/",
    "ext4-",
    "xfs",
    "btrfs-",
    "nvme",
    "kstrp",
    "slub_",
    "netns",
];

/// Is this the name of a kernel thread?
pub fn is_kernel_thread(name: &str) -> bool {
    kernel_thread_cpu(name).is_some() || OTHERS.iter().any(|&other| begins(name, other))
}

/// Short prefixes such as "md" also begin other names. So after a prefix that ends with a letter
/// only a digit, a sign or nothing may follow.
fn begins(name: &str, beginning: &str) -> bool {
    let Some(rest) = name.strip_prefix(beginning) else {
        return false;
    };
    let open = !beginning.ends_with(|c: char| c.is_ascii_alphanumeric());
    open || !rest.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The only CPU of a kernel thread with this name; `None` if it may use any.
pub fn kernel_thread_cpu(name: &str) -> Option<u32> {
    let (kind, rest) = name.split_once('/')?;
    if kind == "kworker" {
        // kworker/CPU:NUMBER is bound (with the suffix H at high priority); kworker/uPOOL:NUMBER is
        // not.
        let (cpu, _) = rest.split_once(':')?;
        return cpu.parse().ok();
    }
    match OF_EACH_CPU.contains(&kind) {
        true => rest.parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpus_own_threads_are_bound() {
        for (name, cpu) in [
            ("migration/3", Some(3)),
            ("ksoftirqd/12", Some(12)),
            ("kworker/1:0H", Some(1)),
            ("kworker/1:2-events", Some(1)),
            ("kworker/u8:3", None),
            ("kworker/R-mm_pe", None),
            ("jbd2/sda1-8", None),
            ("bash", None),
            ("swapper/0", None),
        ] {
            assert_eq!(kernel_thread_cpu(name), cpu, "{name}");
        }
    }

    #[test]
    fn names_tell_the_kernels_threads() {
        for name in [
            "rcu_preempt",
            "kswapd0",
            "md127_raid1",
            "jbd2/vda-8",
            "migration/0",
        ] {
            assert!(is_kernel_thread(name), "{name}");
        }
        for name in ["mdadm", "bash", "make", "sysbench", "netnsd", "writebacker"] {
            assert!(!is_kernel_thread(name), "{name}");
        }
    }
}
