//! A crawler's threads share the set of addresses that were visited: each asks and adds without a lock, and of the
//! threads that meet one address at the same time hardly ever more than one goes on.
//!
//! ```text
//! cargo run --release --example shared_by_threads
//! ```

#![expect(clippy::cast_possible_truncation, reason = "numbers of keys that are in memory")]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bloomline::AtomicBlockedFilter;
use bloomline::sizing::BlockedParams;

const PAGES: u64 = 1_000_000;
const LINKS_PER_PAGE: u64 = 4;

/// The pages that page `page` links to: some popular, most not.
fn links(page: u64) -> impl Iterator<Item = u64> {
    (0..LINKS_PER_PAGE).map(move |link| {
        let mixed = (page * LINKS_PER_PAGE + link).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if link == 0 { mixed % 1000 } else { mixed % PAGES }
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let visited = AtomicBlockedFilter::new(BlockedParams::for_fpp(PAGES, 0.01)?)?;
    let threads = std::thread::available_parallelism()?.get() as u64;
    let fetched = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (visited, fetched) = (&visited, &fetched);
            scope.spawn(move || {
                let new = (thread..PAGES)
                    .step_by(threads as usize)
                    .flat_map(links)
                    .filter(|page| visited.add(format!("https://example.org/page/{page}").as_bytes()))
                    .count();
                fetched.fetch_add(new as u64, Ordering::Relaxed);
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let links = PAGES * LINKS_PER_PAGE;
    println!(
        "{threads} threads followed {links} links, {:.1} million a second",
        links as f64 / seconds / 1e6
    );
    println!("{} pages were fetched, each for the first time", fetched.into_inner());

    // No thread adds any more: the same memory becomes a plain filter, to be saved.
    let filter = visited.into_filter();
    println!(
        "{} bytes to save, false-positive rate {:.2}%",
        filter.encode().len(),
        filter.expected_fpp() * 100.0
    );
    Ok(())
}
