//! The stand-in for a buffer's atomic lines under the model checker, whose atomics are no plain words in memory:
//! lines are copied in and out.

use super::{AtomicLine, LineBuf, ReadLine};

/// Lines that many threads set bits in at once.
#[derive(Debug)]
pub struct AtomicLines(Vec<AtomicLine>);

impl AtomicLines {
    /// The lines, to read and to set bits in.
    #[must_use]
    pub fn lines(&self) -> &[AtomicLine] {
        &self.0
    }
}

impl From<LineBuf> for AtomicLines {
    fn from(lines: LineBuf) -> Self {
        Self(lines.lines().iter().map(AtomicLine::from_bytes).collect())
    }
}

impl From<AtomicLines> for LineBuf {
    fn from(lines: AtomicLines) -> Self {
        let mut buffer = Self::zeroed(lines.0.len()).expect("a model has few lines");
        for (to, from) in buffer.lines_mut().iter_mut().zip(&lines.0) {
            *to = from.load();
        }
        buffer
    }
}
