//! Turns panics of a library into errors.
//!
//! `tracepoint_decode` slices the texts of formats by bytes and panics if they are not ASCII. Only
//! damaged files contain such texts. The panic is caught, prints nothing and becomes an error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::failure::Failure;

thread_local! {
    /// Are panics of this thread caught here, without a message?
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a job; turns its panic into an error.
pub fn guarded<T>(job: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    // After a panic nothing that the job built is used.
    let done = panic::catch_unwind(AssertUnwindSafe(job));
    GUARDED.set(outer);
    done.unwrap_or_else(|_| {
        Err(Failure::new("the file is damaged: it cannot be decoded")
            .expected("a complete perf.data"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_failures() {
        let failed = guarded::<()>(|| panic!("on purpose"));
        assert!(failed.unwrap_err().problem.contains("damaged"));
        assert_eq!(guarded(|| Ok(3)).unwrap(), 3);
        assert!(!GUARDED.get());
    }
}
