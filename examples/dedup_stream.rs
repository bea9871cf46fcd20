//! Drops the lines of standard input that came before, in a few bytes for each distinct line and without knowing
//! how many there will be:
//!
//! ```text
//! cargo run --release --example dedup_stream < access.log > distinct.log
//! ```
//!
//! A line is printed when it is certainly new. About 1 in 1000 new lines looks old and is lost: use this where a
//! sample without repeats is wanted, not where every line counts.

use std::error::Error;
use std::io::{self, BufRead, BufWriter, Write};

use bloomline::ScalableFilter;
use bloomline::sizing::ScalableParams;

fn main() -> Result<(), Box<dyn Error>> {
    let mut seen = ScalableFilter::blocked(ScalableParams::new(10_000, 0.001)?)?;
    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut line, mut lines) = (Vec::new(), 0_u64);
    while {
        line.clear();
        input.read_until(b'\n', &mut line)?
    } > 0
    {
        let key = line.strip_suffix(b"\n").unwrap_or(&line);
        if seen.add(key) {
            output.write_all(key)?;
            output.write_all(b"\n")?;
        }
        lines += 1;
    }
    output.flush()?;
    eprintln!(
        "{lines} lines, about {} distinct, in {} layers of {} KiB; a new line is lost at a rate of {:.4}%",
        seen.count(),
        seen.layers().len(),
        seen.bytes() / 1024,
        seen.expected_fpp() * 100.0,
    );
    match seen.growth_failure() {
        Some(error) => Err(format!("the filter could not grow, and lost more lines: {error}").into()),
        None => Ok(()),
    }
}
