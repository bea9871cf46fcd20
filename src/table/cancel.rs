//! Giving up a file that is being written.

use std::fmt;
use std::sync::Arc;

/// Asked now and then while a file is written: whether to give it up.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use bloomline::{TableOptions, table::Cancel};
///
/// let stop = Arc::new(AtomicBool::new(false));
/// let asked = Arc::clone(&stop);
/// let options = TableOptions::default().cancel(Cancel::when(move || asked.load(Ordering::Relaxed)));
/// // A handler of signals sets `stop`.
/// # drop(options);
/// ```
#[derive(Clone, Default)]
pub struct Cancel {
    should_stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Cancel {
    /// Gives a file up when `should_stop` first returns true. It is asked after at most 8 MiB that were written,
    /// and for the last time right before the file gets its name, so it should return quickly.
    #[must_use]
    pub fn when(should_stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { should_stop: Some(Arc::new(should_stop)) }
    }

    /// Never gives a file up; the default.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    pub(super) fn should_stop(&self) -> bool {
        self.should_stop.as_ref().is_some_and(|should_stop| should_stop())
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.should_stop.is_some() { "Cancel::when(..)" } else { "Cancel::never()" })
    }
}
