//! Stopping on a signal without leaving half a file behind.
//!
//! SIGINT, SIGTERM and SIGHUP end the process at once while it only reads. While a file is being written
//! ([`Guard`]) the first signal is only noted; the writing loop asks [`check`], gives up, and the temporary file
//! is removed on the way out. A second signal ends the process at once.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::exit::Failure;

/// Guards that are alive.
static WRITING: AtomicUsize = AtomicUsize::new(0);
/// A signal has come while a guard was alive.
static STOP: AtomicBool = AtomicBool::new(false);

/// As a shell reports an interrupt: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Sets the handler; called once.
pub(crate) fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if WRITING.load(Ordering::SeqCst) == 0 || STOP.swap(true, Ordering::SeqCst) {
            process::exit(INTERRUPTED);
        }
    })
    .map_err(|error| Failure::input("signal handler", error))
}

/// While it lives, something must be tidied up before the process ends.
#[derive(Debug)]
pub(crate) struct Guard(());

impl Guard {
    pub(crate) fn new() -> Self {
        WRITING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        WRITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// [`Failure::Interrupted`] once a signal has come.
pub(crate) fn check() -> Result<(), Failure> {
    if STOP.load(Ordering::Relaxed) { Err(Failure::Interrupted) } else { Ok(()) }
}
