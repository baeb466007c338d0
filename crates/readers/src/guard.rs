//! Other people's code and damaged files.
//!
//! `tracepoint_decode` slices the formats' texts by bytes and panics where they are not ASCII,
//! which only a damaged file's are.  Such a panic is caught, and nobody sees it but as an error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::failure::Failure;

thread_local! {
    /// Does this thread do something whose panics are nobody's concern?
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does it; a panic is a failure like others.
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
    // What the job was building is dropped unseen.
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
