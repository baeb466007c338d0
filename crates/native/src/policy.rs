//! Finds policies and reads their declarations.

use std::ffi::{c_char, CStr, CString};

use crate::{ffi, InstanceMaker};

include!(concat!(env!("OUT_DIR"), "/policies.rs"));

/// A policy: its table of hooks and declarations; for a policy in Rust also the maker of its
/// instances.
#[derive(Clone, Copy)]
pub struct Policy(
    pub(crate) &'static ffi::Policy,
    pub(crate) Option<&'static dyn InstanceMaker>,
);

/// The scope of the run-queue lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockScope {
    /// One lock for the machine.
    Global,
    /// One for each CPU's run queue.
    PerCpu,
}

/// What a policy promises; see `struct promise` in policy.h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// A CPU never idles while a task waits on its own run queue.
    pub conserving: bool,
    /// The meaning of nice values.
    pub nice: Nice,
    /// Longest wait of a runnable normal task in ns, if the policy has a bound.
    pub starvation_bound_ns: Option<u64>,
    /// The tunables on which that bound depends, separated by spaces.
    pub bound_tunables: &'static str,
}

/// The effect of nice on a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nice {
    /// No effect.
    Ignored,
    /// A lower nice value never gets less CPU time.
    Ordered,
    /// A lower nice value gets a larger share of CPU time.
    Weighted,
}

/// A constant of a policy that can be changed for a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunable {
    /// Its name for `--set`.
    pub name: &'static str,
    /// Its value unless a variant or the user sets it; one value for each row of a table.
    pub initial: &'static [i64],
    /// Least allowed value.
    pub min: i64,
    /// Greatest allowed value.
    pub max: i64,
    /// Meaning, unit and source.
    pub doc: &'static str,
}

impl Tunable {
    /// Its number of rows, if it is a table.
    pub fn rows(&self) -> Option<usize> {
        Some(self.initial.len()).filter(|&rows| rows > 1)
    }
}

/// A version of a policy: named values for some tunables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Its name, as in `POLICY:VARIANT`.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// "name=value name=value …"
    pub set: &'static str,
}

impl Policy {
    /// Every policy in `policies/`, by name.
    pub fn all() -> &'static [Policy] {
        BUILT_IN
    }

    /// The policies that a kernel can run: all that do not know the future.
    pub fn for_kernels() -> impl Iterator<Item = &'static Policy> {
        BUILT_IN.iter().filter(|policy| !policy.knows_future())
    }

    /// The policy of this name in `policies/`.
    pub fn find(name: &str) -> Option<Policy> {
        BUILT_IN.iter().find(|p| p.name() == name).copied()
    }

    /// A policy with hooks in Rust: its table, and the maker of an instance for each host.
    ///
    /// # Safety
    /// The hooks are sound when called as policy.h says, with an instance of this maker.  `global_size` is at least
    /// that of a pointer.
    pub unsafe fn in_rust(
        table: &'static ffi::Policy,
        maker: &'static dyn InstanceMaker,
    ) -> Policy {
        assert!(table.global_size as usize >= size_of::<*mut u8>());
        Policy(table, Some(maker))
    }

    /// The policy with this table, from a module that the embedder has linked.
    ///
    /// # Safety
    /// POLICY() defined the table, and it and its hooks remain where they are.
    pub unsafe fn linked(table: *const ffi::Policy) -> Policy {
        // SAFETY: the caller's promise.
        Policy(unsafe { &*table }, None)
    }

    /// Its table, for [`Policy::linked`].
    pub fn table(&self) -> *const ffi::Policy {
        self.0
    }

    /// The same policy under another name.
    pub fn renamed(&self, name: &str) -> Policy {
        let name = CString::new(name).unwrap_or_default().into_raw();
        let table = Box::leak(Box::new(ffi::Policy { name, ..*self.0 }));
        let renamed = Policy(table, self.1);
        renamed.share_source_of(*self);
        renamed
    }

    /// Are its hooks Rust code?
    pub fn is_in_rust(&self) -> bool {
        self.1.is_some()
    }

    /// Does it make tasks runnable when a timer expires, so that a task may wait for a timer while
    /// all CPUs idle?
    pub fn acts_on_timers(&self) -> bool {
        self.1.is_some()
    }

    /// The name users choose it by.
    pub fn name(&self) -> &'static str {
        text(self.0.name)
    }

    /// One line about it.
    pub fn summary(&self) -> &'static str {
        text(self.0.summary)
    }

    /// Its tunables in the order it declares them.
    pub fn tunables(&self) -> Vec<Tunable> {
        slice(self.0.tunables, self.0.nr_tunables)
            .iter()
            .map(|t| Tunable {
                name: text(t.name),
                initial: slice(t.initial, t.rows as u32),
                min: t.min,
                max: t.max,
                doc: text(t.doc),
            })
            .collect()
    }

    /// Its variants; the first is the default.  Empty if there is only one version.
    pub fn variants(&self) -> Vec<Variant> {
        slice(self.0.variants, self.0.nr_variants)
            .iter()
            .map(|v| Variant {
                name: text(v.name),
                doc: text(v.doc),
                set: text(v.set),
            })
            .collect()
    }

    /// Names of the policy's counters.
    pub fn counters(&self) -> Vec<&'static str> {
        slice(self.0.counters, self.0.nr_counters)
            .iter()
            .map(|&name| text(name))
            .collect()
    }

    /// The scope of its run-queue lock.
    pub fn lock_scope(&self) -> LockScope {
        if self.0.lock == 0 {
            LockScope::Global
        } else {
            LockScope::PerCpu
        }
    }

    /// Does it choose the CPU of a woken task?
    pub fn selects_cpu(&self) -> bool {
        self.0.select_cpu.is_some()
    }

    /// Does it support groups? If not, all tasks compete in the root group.
    pub fn has_groups(&self) -> bool {
        self.0.group_init.is_some()
    }

    /// Does it support limits of groups? If not, they have no effect.
    pub fn has_quotas(&self) -> bool {
        self.0.group_set_quota.is_some()
    }

    /// Does it support slices that tasks ask for? If not, they have no effect.
    pub fn has_custom_slices(&self) -> bool {
        self.0.set_slice.is_some()
    }

    /// Does it want ticks on idle CPUs?
    pub fn ticks_when_idle(&self) -> bool {
        self.0.tick_when_idle != 0
    }

    /// Does it use the work that a task has left? Only a simulator knows that.
    pub fn knows_future(&self) -> bool {
        self.0.knows_future != 0
    }

    /// Its promises, which the checks test.
    pub fn promise(&self) -> Promise {
        let promise = self.0.promise;
        Promise {
            conserving: promise.conserving != 0,
            nice: match promise.nice {
                0 => Nice::Ignored,
                1 => Nice::Ordered,
                _ => Nice::Weighted,
            },
            starvation_bound_ns: Some(promise.starvation_bound_ns).filter(|&ns| ns > 0),
            bound_tunables: match promise.bound_tunables.is_null() {
                true => "",
                false => text(promise.bound_tunables),
            },
        }
    }

    /// Bytes of its state for each task, without the public fields.
    pub fn task_size(&self) -> usize {
        self.0.task_size as usize
    }
}

/// A C string constant of a policy; "" for none.
fn text(string: *const c_char) -> &'static str {
    if string.is_null() {
        return "";
    }
    // SAFETY: POLICY() only takes string constants, which are terminated and live forever.
    unsafe { CStr::from_ptr(string) }
        .to_str()
        .unwrap_or("(not UTF-8)")
}

/// A constant array of a policy.
fn slice<T>(start: *const T, len: u32) -> &'static [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: POLICY_TUNABLES, TUNABLES, VARIANTS and COUNTERS set pointer and length from the same constant array.
    unsafe { std::slice::from_raw_parts(start, len as usize) }
}
