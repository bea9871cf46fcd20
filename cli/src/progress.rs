//! Progress bars: on standard error, only where it is a terminal, only once the work has proved long.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work shorter than this shows no bar.
const LONG: Duration = Duration::from_millis(500);

/// `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Shows no bars from now on.
pub(crate) fn silence() {
    QUIET.store(true, Ordering::Relaxed);
}

/// The progress of one pass over some bytes.
#[derive(Debug)]
pub(crate) struct Progress {
    label: &'static str,
    /// `None` where it isn't known in advance.
    total: Option<u64>,
    done: u64,
    started: Instant,
    /// Made when the work has proved long.
    bar: Option<ProgressBar>,
    shown: bool,
}

impl Progress {
    /// A pass over `total` bytes. `label` says what is going on, such as "counting keys".
    pub(crate) fn new(label: &'static str, total: Option<u64>) -> Self {
        let shown = !QUIET.load(Ordering::Relaxed) && stderr().is_terminal();
        Self { label, total, done: 0, started: Instant::now(), bar: None, shown }
    }

    /// `bytes` more are done.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if !self.shown {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= LONG {
            self.bar = Some(self.make_bar());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    fn make_bar(&self) -> ProgressBar {
        let (bar, template) = match self.total {
            Some(total) => (
                ProgressBar::new(total),
                "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            ),
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes}, {bytes_per_sec}"),
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.with_style(style).with_message(self.label).with_elapsed(self.started.elapsed())
    }
}

/// The bar goes when the work is over or has failed, so that what is printed next begins on a clean line.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
