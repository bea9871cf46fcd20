//! Stopping on a signal without leaving half a file behind.
//!
//! SIGINT, SIGTERM and SIGHUP end the process at once while it only reads. While a file is being written
//! ([`Guard`]) the first signal is only noted; the writing loop asks [`check`] and the library's writers ask
//! [`cancel`], for the last time right before the file gets its name. They give up, and the temporary file is
//! removed on the way out. A second signal ends the process at once. A signal that the process was started to
//! ignore, as under `nohup`, stays ignored.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use bloomline::table::Cancel;

use crate::exit::Failure;

/// Guards that are alive.
static WRITING: AtomicUsize = AtomicUsize::new(0);
/// The signal that came while a guard was alive; 0 for none.
static STOP: AtomicU8 = AtomicU8::new(0);

/// Sets the handlers; called once.
#[cfg(unix)]
pub(crate) fn install() -> Result<(), Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(wanted)
        .map_err(|error| Failure::input("signal handlers", crate::exit::io_text(&error)))?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            on_signal(u8::try_from(signal).unwrap_or(u8::MAX));
        }
    });
    Ok(())
}

/// Signals keep their default effect.
#[cfg(not(unix))]
pub(crate) fn install() -> Result<(), Failure> {
    Ok(())
}

/// Runs on a thread of its own.
#[cfg(unix)]
fn on_signal(signal: u8) {
    let reading = WRITING.load(Ordering::SeqCst) == 0;
    let again = STOP.swap(signal, Ordering::SeqCst) != 0;
    if reading || again {
        std::process::exit(i32::from(signal).saturating_add(128));
    }
}

/// Whether the process was started with the signal ignored. Only Linux tells without unsafe code; elsewhere it
/// counts as not ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let mask = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    mask().is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
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
    match STOP.load(Ordering::Relaxed) {
        0 => Ok(()),
        signal => Err(Failure::Interrupted { signal }),
    }
}

/// Gives up a file of the library's making once a signal has come.
pub(crate) fn cancel() -> Cancel {
    Cancel::when(|| check().is_err())
}
