//! A scheduler whose part in user space takes part in scheduling: this very program, started as its loader.

use std::env;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags, MapMut, Object, ObjectBuilder, OpenObject, ProgramInput};
use tempfile::TempDir;

use crate::common::{failure, schedlab, text};
use crate::scx::compiled;

/// Names the object to whoever is started as its loader.
const OBJECT: &str = "SCHEDLAB_TEST_OBJECT";
/// If it is there, the loader ends after four turns.
const LEAVES: &str = "SCHEDLAB_TEST_LEAVES";

/// How long a lane is open, and how many slices are in that.
const TURN_MS: u32 = 100;
const SLICES: u64 = 20;

/// The loader: opens the other lane in each turn, and sees that time, tasks and CPUs went on meanwhile.
#[test]
fn loader() {
    let Some(path) = env::var_os(OBJECT) else {
        return;
    };
    let mut object = ObjectBuilder::default().open_file(path).unwrap();
    let open_lane = open_lane(&mut object);
    let mut object = object.load().unwrap();
    for lane in 0_u32..2 {
        let key = lane.to_ne_bytes();
        map(&object, "given")
            .update(&key, &[0; 8], MapFlags::ANY)
            .unwrap();
    }
    let _link = attach(&mut object);
    let (start, machine_start) = (Instant::now(), machine_time(&object));
    let mut before = [0; 2];
    for turn in 1.. {
        sleep(Duration::from_millis(TURN_MS.into()) * turn - start.elapsed());
        let here = start.elapsed();
        let there = Duration::from_nanos(machine_time(&object) - machine_start);
        assert!(
            here.abs_diff(there) < Duration::from_micros(100),
            "{here:?}, {there:?}"
        );
        let now = [given(&object, 0), given(&object, 1)];
        let open = open_lane.swap(turn % 2, Ordering::Relaxed) as usize;
        let ran = [open, 1 - open].map(|lane| now[lane] - before[lane]);
        assert!(
            (SLICES - 1..=SLICES + 2).contains(&ran[0]),
            "turn {turn}: {ran:?}"
        );
        assert!(ran[1] <= 2, "turn {turn}: {ran:?}");
        let ticks = TURN_MS / 10 * turn;
        let busy = busy_ticks();
        assert!((ticks - 1..=ticks).contains(&busy), "turn {turn}: {busy}");
        before = now;
        if turn == 4 && env::var_os(LEAVES).is_some() {
            eprintln!("it has seen enough");
            std::process::exit(7);
        }
    }
}

/// Where programs look which lane is open: in mapped memory.
fn open_lane(object: &mut OpenObject) -> &'static AtomicU32 {
    let mut maps = object.maps_mut();
    let mut bss = maps
        .find(|map| map.name().to_string_lossy().ends_with(".bss"))
        .unwrap();
    let address = bss.initial_value_mut().unwrap().as_mut_ptr();
    // SAFETY: libbpf keeps the address when it loads the object, which is never closed.
    unsafe { AtomicU32::from_ptr(address.cast()) }
}

fn attach(object: &mut Object) -> libbpf_rs::Link {
    let is_table = |map: &MapMut| map.name() == "lanes";
    let mut table = object.maps_mut().find(is_table).unwrap();
    table.attach_struct_ops().unwrap()
}

fn map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    object.maps().find(|map| map.name() == name).unwrap()
}

/// How often a lane was given a task.
fn given(object: &Object, lane: u32) -> u64 {
    let value = map(object, "given").lookup(&lane.to_ne_bytes(), MapFlags::ANY);
    u64::from_ne_bytes(value.unwrap().unwrap()[..].try_into().unwrap())
}

/// The time as programs see it.
fn machine_time(object: &Object) -> u64 {
    let mut time = [0_u8; 8];
    let program = object
        .progs_mut()
        .find(|program| program.name() == "tell_time");
    let input = ProgramInput {
        context_in: Some(&mut time),
        ..ProgramInput::default()
    };
    program.unwrap().test_run(input).unwrap();
    u64::from_ne_bytes(time)
}

/// How long CPU 0 was busy, in 1/100 s.
fn busy_ticks() -> u32 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let line = stat.lines().find(|line| line.starts_with("cpu0 ")).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// What a run of schedlab takes, with the loader above as its scheduler.
fn run(folder: &TempDir, arguments: &[&str]) -> Command {
    let object = compiled(folder.path(), "lanes", &["-g"]);
    let program = env::current_exe().unwrap();
    let policy = format!(
        "{} --exact scx_userspace::loader --nocapture",
        program.display()
    );
    let run = [
        "run",
        "--policy",
        &policy,
        "--workload",
        "hogs --count 4",
        "--machine",
        "ideal-1",
    ];
    let mut command = schedlab(&[&run[..], arguments].concat());
    command.env(OBJECT, object).stdin(Stdio::null());
    command
}

#[test]
fn a_part_in_user_space_takes_turns_with_the_simulation() {
    let folder = TempDir::new().unwrap();
    let traces = |arguments: &[&str]| -> Vec<String> {
        let done = run(&folder, &[&["--duration", "1s"], arguments].concat())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let text = text(&done.stdout);
        let lines = text.lines().filter_map(|line| line.strip_prefix("trace "));
        let hashes = lines.map(|line| line.split(' ').next().unwrap().to_string());
        hashes.collect()
    };
    let first = traces(&[]);
    assert_eq!(first.len(), 1);
    assert_eq!(traces(&[]), first);
    let many = traces(&["--seeds", "3", "--jobs", "2"]);
    assert!(
        !many.is_empty() && many.iter().all(|hash| *hash == first[0]),
        "{many:?}"
    );
}

#[test]
fn a_part_in_user_space_that_ends_is_quoted() {
    let folder = TempDir::new().unwrap();
    let done = run(&folder, &["--duration", "1s"])
        .env(LEAVES, "1")
        .output()
        .unwrap();
    let message = failure(3, done);
    for part in [
        "at 0.400",
        "unregistered from user space",
        "ended with status 7",
        "it has seen enough",
    ] {
        assert!(message.contains(part), "{message}");
    }
}
