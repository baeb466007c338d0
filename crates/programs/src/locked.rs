//! A lock between processes.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::system::{wait_while, wake};

/// A value behind a lock that works between processes.
#[repr(C)]
pub struct Locked<T> {
    /// 0: free, 1: taken, 2: taken and a task may wait for it.
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through the lock.
unsafe impl<T: Send> Sync for Locked<T> {}

/// Access to a locked value; dropping it unlocks.
pub struct Guard<'a, T>(&'a Locked<T>);

impl<T> Locked<T> {
    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T> {
        if self.state.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.state.swap(2, Acquire) != 0 {
                wait_while(&self.state, 2);
            }
        }
        Guard(self)
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.0.state.swap(0, Release) == 2 {
            wake(&self.0.state);
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its owner has the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for as long.
        unsafe { &mut *self.0.value.get() }
    }
}
