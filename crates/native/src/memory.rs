//! Memory that Rust and C share: zeroed, aligned, never moved, accessed only by raw pointers.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::c_void;
use std::slice;

use crate::ffi;

/// A block of zeroed memory.
pub(crate) struct Block {
    start: *mut u8,
    layout: Layout,
}

impl Block {
    pub(crate) fn new(bytes: usize) -> Block {
        let layout =
            Layout::from_size_align(bytes.max(8), 64).expect("state sizes are far below the limit");
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Block { start, layout }
    }

    /// Zeroed memory with a guard behind it, as large as `element` at least.
    pub(crate) fn guarded(bytes: usize, element: usize) -> (Block, Guard) {
        let from = bytes.next_multiple_of(8);
        let pattern = vec![GUARD_BYTE; element.max(MIN_GUARD)];
        let block = Block::new(from + pattern.len());
        // SAFETY: the guard is the end of the block.
        unsafe {
            block
                .start
                .add(from)
                .copy_from(pattern.as_ptr(), pattern.len())
        };
        (block, Guard { from, pattern })
    }

    /// Is nothing written into the guard?
    pub(crate) fn is_intact(&self, guard: &Guard) -> bool {
        // SAFETY: the guard is the end of the block, and no hook runs now.
        let now = unsafe { slice::from_raw_parts(self.start.add(guard.from), guard.pattern.len()) };
        now == guard.pattern
    }

    pub(crate) fn as_ptr<T>(&self) -> *mut T {
        self.start.cast()
    }

    pub(crate) fn as_void(&self) -> *mut c_void {
        self.start.cast()
    }
}

/// Memory behind a block that nobody may write to.
pub(crate) struct Guard {
    from: usize,
    /// What is there.
    pattern: Vec<u8>,
}

const MIN_GUARD: usize = 256;
const GUARD_BYTE: u8 = 0xa5;

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in new() with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}

// SAFETY: a block is plain memory with one owner.
unsafe impl Send for Block {}

/// Tasks in chunks that never move: the public fields followed by the policy's state.
pub(crate) struct TaskSlab {
    chunks: Vec<Block>,
    stride: usize,
    len: usize,
}

const CHUNK: usize = 1024;

impl TaskSlab {
    pub(crate) fn new(policy_bytes: usize) -> TaskSlab {
        let stride = size_of::<ffi::Task>() + policy_bytes.next_multiple_of(8);
        TaskSlab {
            chunks: Vec::new(),
            stride,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a zeroed task.
    pub(crate) fn push(&mut self) -> *mut ffi::Task {
        if self.len == self.chunks.len() * CHUNK {
            self.chunks.push(Block::new(CHUNK * self.stride));
        }
        self.len += 1;
        self.get(self.len - 1)
    }

    pub(crate) fn get(&self, index: usize) -> *mut ffi::Task {
        assert!(index < self.len, "task {index} of {}", self.len);
        // SAFETY: the index is within the chunk, which holds CHUNK strides.
        unsafe {
            self.chunks[index / CHUNK]
                .as_ptr::<u8>()
                .add(index % CHUNK * self.stride)
                .cast()
        }
    }
}
