//! Progress bars: on standard error, only where it is a terminal, only once the work has proved long.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
    started: Instant,
    /// Counts from the start, so that its estimate is right when it is shown; `None` where it never will be.
    bar: Option<ProgressBar>,
    visible: bool,
}

impl Progress {
    /// A pass over `total` bytes, `None` where it isn't known in advance. `label` says what is going on, such as
    /// "counting keys".
    pub(crate) fn new(label: &'static str, total: Option<u64>) -> Self {
        let wanted = !QUIET.load(Ordering::Relaxed) && stderr().is_terminal();
        let bar = wanted.then(|| hidden_bar(label, total));
        Self { started: Instant::now(), bar, visible: false }
    }

    /// `bytes` more are done.
    pub(crate) fn advance(&mut self, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        bar.inc(bytes);
        if !self.visible && self.started.elapsed() >= LONG {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            self.visible = true;
        }
    }
}

fn hidden_bar(label: &'static str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        None => "{msg} {spinner} {bytes}, {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
    bar.with_style(style).with_message(label)
}

/// The bar goes when the work is over or has failed, so that what is printed next begins on a clean line.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
