//! A bound on what a call may allocate.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Runs `work`, which has no more than `bytes` of memory beyond what is in use. An allocation past that fails: it
/// ends the process, or comes out as an error of memory, which no caller here takes for a right answer.
pub fn within<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    set_limit(ALLOCATOR.allocated() + bytes);
    let result = work();
    set_limit(usize::MAX);
    result
}

fn set_limit(bytes: usize) {
    assert!(ALLOCATOR.set_limit(bytes).is_ok(), "more is in use than before");
}
