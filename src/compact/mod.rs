//! The compact filter: a static filter in Ribbon's space that reads one line for almost every lookup.
//!
//! # What and why
//!
//! A key is present when a linear function of the stored bits equals its fingerprint of r bits. An absent key
//! passes with probability 2^−r, and storing the bits takes r bits per key and a few per cent: the
//! information-theoretic minimum is log2(1 / rate) = r, a blocked Bloom filter takes 1.5 r and more.
//!
//! Ribbon (Dillinger and Walzer, *Ribbon filter: practically smaller than Bloom and Xor*, 2021) solves one
//! linear system for all keys, in which each equation touches some 128 neighbouring slots. Its lookups read r
//! columns spread over several cache lines, and a system of millions of equations that must not fail leaves no
//! room for overload. Bumped Ribbon Retrieval (Dillinger, Hübschle-Schneider, Sanders and Walzer, *Fast succinct
//! retrieval and approximate membership using ribbon*, 2022) does not insist: a bucket that can't hold all its
//! keys *bumps* those under a threshold to a further layer, and the system can be filled to the brim.
//!
//! Here a bucket is a 64-byte line and a **system of its own**, small enough to be dense: any of a key's
//! coefficients may be one. So a lookup reads one line, and a build solves lines one by one, in cache, on any
//! number of threads.
//!
//! # A line
//!
//! ```text
//!  bit 0        S         2S                    (r−1)S       rS     512−T    512
//!      ├─────────┼─────────┼──── ··· ────────────┼───────────┼───────┼────────┤
//!      │ column 0│ column 1│                     │ column r−1│ spare │    τ   │
//!      └─────────┴─────────┴──── ··· ────────────┴───────────┴───────┴────────┘
//! ```
//!
//! r columns of S = ⌊507 / r⌋ bits and a threshold τ of T = min(8, 512 − rS) bits; 72 slots of 7 bits, say.
//!
//! # A lookup
//!
//! ```text
//! line, rank, fingerprint, coefficients = functions of the hash
//! if rank < τ: the key was bumped: the same in the next layer, with the hash remixed
//! else: maybe, if the parity of (column & coefficients) is the fingerprint's next bit, column by column; else absent
//! ```
//!
//! # Load and bumping
//!
//! Keys choose their lines at random, so a line gets a Poisson number of them, λ = 1.1 S on average. It takes
//! them by falling rank as long as the system has a solution. With i equations in, the next one depends on them
//! with probability 2^(i−S) and then disagrees with probability 1 − 2^−r, so a line stops Σ 2^−i ≈ 1.6 slots
//! short of full. Lines that get more keys than that bump the rest, some 11% (r = 4) to 16% (r = 16) of all; lines that get
//! fewer waste slots. The second layer holds the bumped keys in the same way, the third what that bumps, until
//! the rest fits in a single line, the *tail*. [`CompactParams::model`](crate::sizing::CompactParams::model)
//! computes all this, and agrees with builds to about 0.1%: 4.15 bits per key for r = 4, 7.37 for r = 7, 8.46 for
//! r = 8, 12.94 for r = 12, at any number of keys from 100,000 on.
//!
//! # What it refuses to do
//!
//! - **Add.** The filter is built once, from all keys. There is no bit to set for one more.
//! - **Merge.** The OR of two solutions solves neither system. Build from the keys of both.
//! - **Fail.** [`build()`] has no retry and no failure but a want of memory. Equal hashes are one key. Hashes
//!   that crowd a line move on layer by layer, where they are drawn anew; whatever is left when the layers or
//!   the lines reach their limit is answered "maybe". It takes hashes made for the purpose to get there: a
//!   filter is no security boundary, and a secret hash key is the remedy.
//!
//! # Where things are
//!
//! `key` derives line, rank and equation; `shape` cuts a line; `directory` keeps the sizes of the layers
//! in slots that the tail can spare; `group` sorts keys by line and rank; `system` solves a line; `build`
//! makes the layers; `probe` tests a line, and `avx2` does that for
//! eight columns at a time; `read` walks the layers; `kernel` compiles that for each r and
//! machine.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod build;
mod directory;
mod group;
mod kernel;
mod key;
mod probe;
mod read;
mod shape;
mod system;
#[cfg(test)]
mod tests;

pub use build::{CompactBody, build};
pub use read::{CompactLayout, CompactView};
