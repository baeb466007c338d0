//! The source line of a program counter in a policy, for a signal handler.
//!
//! addr2line (binutils) reads the debug information of this program, or of an object compiled at
//! run time. That object's file is deleted, but a descriptor of it stays open.

use std::fs::File;
use std::os::fd::IntoRawFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::text::Text;
use crate::ffi;

/// Objects of policies compiled at run time, as a list that only grows; the newest is first.
static OBJECTS: AtomicPtr<Object> = AtomicPtr::new(ptr::null_mut());

struct Object {
    table: *const ffi::Policy,
    fd: i32,
    next: *mut Object,
}

/// Keeps the object with this policy's table open.
pub(crate) fn keep_object(table: *const ffi::Policy, object: File) {
    let fd = object.into_raw_fd();
    let next = OBJECTS.load(Ordering::Acquire);
    let entry = Box::leak(Box::new(Object { table, fd, next }));
    while let Err(newer) =
        OBJECTS.compare_exchange(entry.next, entry, Ordering::AcqRel, Ordering::Acquire)
    {
        entry.next = newer;
    }
}

/// "file.c:12" for a program counter in a policy; empty if unknown.
pub(crate) fn source_line(pc: usize, table: *const ffi::Policy) -> Text {
    let mut line = Text::new();
    let (Some(base), Some(path)) = (base_of(pc), object_path(pc, table)) else {
        return line;
    };
    let mut offset = Text::new();
    offset.hex(pc - base);
    run_addr2line(&path, &offset, &mut line);
    // addr2line prints "??:0" or "file.c:?" for an unknown line, and may add remarks.
    let end = line
        .as_str()
        .find(['\n', ' '])
        .unwrap_or(line.as_str().len());
    line.truncate(end);
    if line.as_str().contains('?') {
        line.truncate(0);
    }
    line
}

/// The load address of the object that contains an address.
fn base_of(address: usize) -> Option<usize> {
    // SAFETY: a plain call with a valid structure.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        let ok = libc::dladdr(address as *const libc::c_void, &mut found) != 0;
        ok.then_some(found.dli_fbase as usize)
    }
}

/// The file of that object: this program, or the policy's object.
fn object_path(pc: usize, table: *const ffi::Policy) -> Option<Text> {
    let base = base_of(pc)?;
    let mut path = Text::new();
    path.str("/proc/").decimal(u64::from(std::process::id()));
    if base_of(source_line as *const () as usize) == Some(base) {
        path.str("/exe");
        return Some(path);
    }
    let mut object = OBJECTS.load(Ordering::Acquire);
    // SAFETY: entries are leaked boxes that never change once they are in the list.
    while let Some(entry) = unsafe { object.as_ref() } {
        if ptr::eq(entry.table, table) && base_of(table as usize) == Some(base) {
            path.str("/fd/").decimal(entry.fd as u64);
            return Some(path);
        }
        object = entry.next;
    }
    None
}

/// Most time for addr2line, in s.
const PATIENCE: u32 = 10;

/// Appends the output of addr2line. Makes only async-signal-safe calls.
fn run_addr2line(path: &Text, offset: &Text, line: &mut Text) {
    let program = c"/usr/bin/addr2line";
    let arguments = [
        program.as_ptr(),
        c"-s".as_ptr(),
        c"-e".as_ptr(),
        path.as_c_str(),
        offset.as_c_str(),
        ptr::null(),
    ];
    let mut ends = [0; 2];
    // SAFETY: plain system calls with valid buffers; the child only execs or ends.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return;
        }
        let child = libc::fork();
        if child == 0 {
            libc::alarm(PATIENCE);
            libc::dup2(ends[1], 1);
            libc::close(2);
            libc::execv(program.as_ptr(), arguments.as_ptr());
            libc::_exit(127);
        }
        libc::close(ends[1]);
        if child > 0 {
            line.read_from(ends[0]);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
        libc::close(ends[0]);
    }
}
