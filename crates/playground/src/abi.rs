//! What a module of WebAssembly exports to the page: memory, linking, and one function that answers.
//!
//! Texts are passed as address and length; columns of numbers are read where they are. A generator of bindings would
//! bring its own program to every build for these five functions.

use std::alloc::{alloc_zeroed, Layout};
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use schedlab_policy::{ffi, Policy};

use crate::{Progress, Session};

static SESSION: Mutex<Session> = Mutex::new(Session::new());

/// The last answer; after a panic its message.
static ANSWER: Mutex<String> = Mutex::new(String::new());

/// The alignment of allocations: that of a cache line, which the data of a policy may ask for.
const ALIGN: usize = 64;

/// Zeroed memory that is never freed, for the data of policies and for questions.
///
/// # Panics
/// There is not so much memory.
#[unsafe(no_mangle)]
pub extern "C" fn schedlab_alloc(bytes: usize) -> *mut u8 {
    let layout = Layout::from_size_align(bytes.max(1), ALIGN).expect("sizes are small");
    // SAFETY: the size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    assert!(!start.is_null(), "out of memory");
    start
}

/// Adds a policy under a name of `len` bytes; without a name under its own.
///
/// # Safety
/// As [`Policy::linked`]; the name is as long as that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schedlab_link(table: *const ffi::Policy, name: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    let (policy, name) = unsafe { (Policy::linked(table), std::slice::from_raw_parts(name, len)) };
    session().link(match name {
        [] => policy,
        name => policy.renamed(&String::from_utf8_lossy(name)),
    });
}

/// Answers a question of `len` bytes, and gives the length of the answer.
///
/// # Safety
/// The question is as long as that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn schedlab_ask(question: *const u8, len: usize) -> usize {
    keep_panics();
    // SAFETY: the caller's promise.
    let question = unsafe { std::slice::from_raw_parts(question, len) };
    let question = String::from_utf8_lossy(question);
    let answer = session().answer(&question, &mut report);
    set_answer(answer)
}

/// Where the last answer is; after a trap, the message of the panic.
#[unsafe(no_mangle)]
pub extern "C" fn schedlab_answer() -> *const u8 {
    ANSWER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ptr()
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn schedlab_answer_len() -> usize {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).len()
}

fn set_answer(text: String) -> usize {
    let mut answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    *answer = text;
    answer.len()
}

fn session() -> std::sync::MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The page reads the message of a panic as an answer.
fn keep_panics() {
    static ONCE: Once = Once::new();
    if cfg!(target_family = "wasm") {
        ONCE.call_once(|| {
            panic::set_hook(Box::new(|info| {
                set_answer(info.to_string());
            }));
        });
    }
}

/// Passes the progress of a run on to the page.
#[cfg(target_family = "wasm")]
fn report(now: Progress) {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        fn progress(now_ns: f64, end_ns: f64, events: f64);
    }
    // SAFETY: numbers go to a function of the page.
    unsafe { progress(now.now.0 as f64, now.end.0 as f64, now.events as f64) }
}

/// Elsewhere there is no page.
#[cfg(not(target_family = "wasm"))]
fn report(_: Progress) {}
