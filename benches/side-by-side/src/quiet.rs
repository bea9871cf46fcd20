//! Waiting for moments in which nobody else uses the core.
//!
//! The other hyperthread of a core takes half of what it can do in a cycle, and on a rented machine that is somebody
//! else's. It doesn't slow all filters alike: code that keeps the core busy pays double, code that waits for its own
//! results hardly anything. A short piece of work that does nothing but keep the core busy shows it.

use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait before the next look.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest call that is worth another.
const SHORT: Duration = Duration::from_millis(50);

/// The time of the piece of work when the core was quiet, and how much longer to wait for such moments.
#[derive(Debug)]
pub(crate) struct Quiet {
    fastest: Duration,
    patience: Duration,
    waited: Duration,
}

impl Quiet {
    /// Waits for `patience` in all.
    pub(crate) fn new(patience: Duration) -> Self {
        let looks = if patience.is_zero() { 1 } else { 2000 };
        let fastest = (0..looks).map(|_| work()).min().unwrap_or_default();
        Self { fastest, patience, waited: Duration::ZERO }
    }

    /// Calls, and gives the time of the call that the core was quiet before and after; of any, when there is no
    /// patience left. A long call is not repeated: it has its share of both kinds of moments.
    pub(crate) fn time<T>(&mut self, mut call: impl FnMut() -> T) -> (T, Duration) {
        loop {
            self.wait();
            let start = Instant::now();
            let result = call();
            let elapsed = start.elapsed();
            if elapsed > SHORT || self.waited >= self.patience || self.is_quiet() {
                return (result, elapsed);
            }
            self.waited += elapsed;
        }
    }

    /// Returns when the core is quiet, or when there is no patience left.
    fn wait(&mut self) {
        while self.waited < self.patience && !self.is_quiet() {
            let start = Instant::now();
            sleep(PAUSE);
            self.waited += start.elapsed();
        }
    }

    /// Whether nobody else uses the core now.
    fn is_quiet(&mut self) -> bool {
        let time = work();
        self.fastest = self.fastest.min(time);
        time <= self.fastest + self.fastest / 16
    }

    /// What was waited for so far.
    pub(crate) fn waited(&self) -> Duration {
        self.waited
    }
}

/// Independent chains of the simplest instructions: as many as a core can do in a cycle. 39 µs on a quiet core measured,
/// 58 on one that is shared.
fn work() -> Duration {
    let start = Instant::now();
    let mut chains = black_box([1_u64, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..20_000 {
        for chain in &mut chains {
            *chain = (*chain ^ 0x9E37_79B9_7F4A_7C15).wrapping_add(chain.rotate_left(7));
        }
    }
    black_box(chains);
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends() {
        let mut never = Quiet { fastest: Duration::ZERO, patience: 3 * PAUSE, waited: Duration::ZERO };
        assert_eq!(never.time(|| 7).0, 7);
        assert!(never.waited() >= 3 * PAUSE);
        let waited = never.waited();
        never.time(|| ());
        assert_eq!(never.waited(), waited);
    }

    #[test]
    fn a_quiet_core_is_not_waited_for() {
        let day = Duration::from_secs(86_400);
        let mut quiet = Quiet { fastest: day, patience: day, waited: Duration::ZERO };
        quiet.wait();
        assert_eq!(quiet.waited(), Duration::ZERO);
        assert!(quiet.fastest < day, "the fastest is remembered");
    }

    #[test]
    fn a_long_call_is_made_once() {
        let mut never = Quiet {
            fastest: Duration::ZERO,
            patience: Duration::from_secs(1),
            waited: Duration::from_secs(1),
        };
        never.patience += PAUSE;
        let mut calls = 0;
        let (_, elapsed) = never.time(|| {
            calls += 1;
            sleep(2 * SHORT);
        });
        assert!(elapsed >= 2 * SHORT);
        assert_eq!(calls, 1);
    }
}
