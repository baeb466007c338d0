//! A policy's BPF object: sets its constants, loads it, reads its variables.

use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys;
use libbpf_rs::{MapCore, MapFlags, MapMut, ObjectBuilder, OpenObject, ProgramInput, ProgramMut};
use schedlab_policy::{Tuned, MAX_CPUS};

use crate::topology::Place;
use crate::Error;

/// A loaded object: the verifier has accepted its programs; none of them runs yet.
pub struct Object {
    inner: libbpf_rs::Object,
}

/// `struct host_config` in machine.h.
#[repr(C)]
pub(crate) struct Config {
    pub nr_cpus: u32,
    pub smp: u32,
    pub max_tasks: u32,
    pub default_hz: u32,
    pub hz: i64,
    pub seed: u64,
    pub place: [[u32; 4]; MAX_CPUS],
}

impl Config {
    pub(crate) fn new(tuned: &Tuned, places: &[Place], max_tasks: u32, default_hz: u32) -> Config {
        let mut place = [[0; 4]; MAX_CPUS];
        for (slot, p) in place.iter_mut().zip(places) {
            *slot = [p.core, p.llc, p.node, u32::from(p.online)];
        }
        Config {
            nr_cpus: places.len().min(MAX_CPUS) as u32,
            smp: u32::from(places.iter().filter(|p| p.online).count() > 1),
            max_tasks,
            default_hz,
            hz: tuned.get("hz").unwrap_or(0),
            seed: 1,
            place,
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: plain integers without padding.
        unsafe { std::slice::from_raw_parts((self as *const Config).cast(), size_of::<Config>()) }
    }
}

/// The first fields of `struct sched_ext_ops` in kernel.h.
pub(crate) struct Operations {
    pub name: String,
    /// Ask the kernel for all optional calls of ops.enqueue().
    pub hears_all: bool,
    pub partial: bool,
    pub timeout_ms: u32,
    pub hotplug_seq: u64,
}

const OPS_ENQ_LAST: u64 = 1 << 1;
const OPS_ENQ_EXITING: u64 = 1 << 2;
const OPS_SWITCH_PARTIAL: u64 = 1 << 3;
const OPS_ENQ_MIGRATION_DISABLED: u64 = 1 << 4;

impl Operations {
    fn write(&self, image: &mut [u8]) {
        let partial = if self.partial { OPS_SWITCH_PARTIAL } else { 0 };
        let heard = match self.hears_all {
            true => OPS_ENQ_LAST | OPS_ENQ_EXITING | OPS_ENQ_MIGRATION_DISABLED,
            false => 0,
        };
        let flags = heard | partial;
        image[0..8].copy_from_slice(&flags.to_ne_bytes());
        image[8..16].copy_from_slice(&self.hotplug_seq.to_ne_bytes());
        image[16..20].copy_from_slice(&self.timeout_ms.to_ne_bytes());
        let name: String = self
            .name
            .chars()
            .map(|c| match c {
                c if c.is_ascii_alphanumeric() || "_.".contains(c) => c,
                _ => '_',
            })
            .take(127)
            .collect();
        image[24..152].fill(0);
        image[24..24 + name.len()].copy_from_slice(name.as_bytes());
    }
}

/// Opens an object as it is.
pub(crate) fn open_plain(code: &[u8]) -> Result<OpenObject, Error> {
    ObjectBuilder::default()
        .name("schedlab")
        .and_then(|builder| builder.open_memory(code))
        .map_err(Error::open)
}

/// Opens the object of the smallest scheduler and sets whether it preempts.
pub(crate) fn open_floor(code: &[u8], preempts: bool) -> Result<OpenObject, Error> {
    let mut object = open_plain(code)?;
    let value = u32::from(preempts).to_ne_bytes();
    for mut map in object.maps_mut() {
        if map.name() == ".rodata.floor" {
            map.set_initial_value(&value).map_err(Error::open)?;
        }
    }
    Ok(object)
}

/// Opens an object and sets the constants that the verifier must know.
pub(crate) fn open(code: &[u8], tuned: &Tuned, config: &Config) -> Result<OpenObject, Error> {
    let mut object = open_plain(code)?;
    let tunables: Vec<u8> = tuned
        .values()
        .iter()
        .flat_map(|v| v.to_ne_bytes())
        .collect();
    for mut map in object.maps_mut() {
        match map.name().to_str() {
            Some(".rodata.tunables") => map.set_initial_value(&tunables).map_err(Error::open)?,
            Some(".data.config") => map.set_initial_value(config.bytes()).map_err(Error::open)?,
            Some("host_kernel_tasks") => {
                map.set_max_entries(config.max_tasks).map_err(Error::open)?;
            }
            _ => {}
        }
    }
    Ok(object)
}

/// Writes the members of `struct sched_ext_ops` that are not functions.
pub(crate) fn set_operations(
    object: &mut OpenObject,
    operations: &Operations,
) -> Result<(), Error> {
    object
        .maps_mut()
        .find(|map| map.name() == "schedlab_ops")
        .and_then(|mut map| {
            operations.write(map.initial_value_mut()?);
            Some(())
        })
        .ok_or(Error::NotOurs)
}

impl Object {
    pub(crate) fn load(object: OpenObject) -> Result<Object, Error> {
        let inner = object.load().map_err(Error::open)?;
        Ok(Object { inner })
    }

    /// Instructions that the verifier processed, for each program.
    pub fn verified_instructions(&self) -> Vec<(String, u32)> {
        self.of_programs(|info| (info.verified_insns > 0).then_some(info.verified_insns))
    }

    /// What [`count_calls`] counted, for each program.
    pub(crate) fn calls(&self) -> Vec<(String, Calls)> {
        self.of_programs(|info| {
            Some(Calls {
                runs: info.run_cnt,
                ns: info.run_time_ns,
            })
        })
    }

    fn of_programs<T>(
        &self,
        read: impl Fn(&libbpf_sys::bpf_prog_info) -> Option<T>,
    ) -> Vec<(String, T)> {
        let mut found: Vec<(String, T)> = self
            .inner
            .progs()
            .filter_map(|program| {
                let name = program.name().to_str()?.to_string();
                Some((name, read(&info_of(&program)?)?))
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    pub(crate) fn map(&mut self, name: &str) -> Option<MapMut<'_>> {
        self.inner.maps_mut().find(|map| map.name() == name)
    }

    /// Reads a map of global variables.
    pub(crate) fn variables(&mut self, name: &str) -> Option<Vec<u8>> {
        let map = self.map(name)?;
        map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)
            .ok()
            .flatten()
    }

    /// Writes a map of global variables.
    pub(crate) fn set_variables(&mut self, name: &str, value: &[u8]) -> Option<()> {
        let map = self.map(name)?;
        map.update(&0u32.to_ne_bytes(), value, MapFlags::ANY).ok()
    }

    /// Runs a program that is not part of the scheduler.
    pub(crate) fn run(&mut self, name: &str) -> Option<u32> {
        let program: ProgramMut = self
            .inner
            .progs_mut()
            .find(|program| program.name() == name)?;
        let output = program.test_run(ProgramInput::default()).ok()?;
        Some(output.return_value)
    }
}

/// How often the kernel ran a program, and how long in total.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Calls {
    /// Times it ran.
    pub runs: u64,
    /// Time in it.
    pub ns: u64,
}

/// The kernel counts [`Calls`] of all BPF programs until this is dropped.
///
/// # Errors
/// The kernel refuses it.
pub fn count_calls() -> std::io::Result<OwnedFd> {
    // SAFETY: a system call with a plain number.
    match unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) } {
        // SAFETY: the kernel has just made it, for us.
        fd if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        error => Err(std::io::Error::from_raw_os_error(-error)),
    }
}

fn info_of(program: &libbpf_rs::Program<'_>) -> Option<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    // SAFETY: the descriptor is open and the structure as large as we say.
    let code = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_fd().as_raw_fd(),
            (&raw mut info).cast(),
            &mut size,
        )
    };
    (code == 0).then_some(info)
}
