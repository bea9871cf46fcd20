//! RocksDB's own filter statistics, and the false-positive rate that lookups really saw.

use rocksdb::{AsRawPtr, Options};

use crate::ffi;

/// RocksDB's filter tickers, for all column families and files of a database together.
///
/// Available when `Options::enable_statistics` was called before the database was opened. A `get` asks the filter
/// for its whole key, or for its prefix when `whole_key_filtering` is off; an iterator's seek asks for its prefix.
/// The three are counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[repr(C)] // `bl_ticker_values`
pub struct Tickers {
    /// Lookups that a filter ended (`BLOOM_FILTER_USEFUL`).
    pub useful: u64,
    /// Lookups that a full-key filter let through (`BLOOM_FILTER_FULL_POSITIVE`).
    pub full_positive: u64,
    /// Those of them that found the key (`BLOOM_FILTER_FULL_TRUE_POSITIVE`).
    pub full_true_positive: u64,
    /// Lookups that asked a filter for their prefix (`BLOOM_FILTER_PREFIX_CHECKED`).
    pub prefix_checked: u64,
    /// Those of them that the filter ended (`BLOOM_FILTER_PREFIX_USEFUL`).
    pub prefix_useful: u64,
    /// Those of them that found their key (`BLOOM_FILTER_PREFIX_TRUE_POSITIVE`).
    pub prefix_true_positive: u64,
    /// Seeks of iterators that a filter kept from reading a sorted run (`*_LEVEL_SEEK_FILTERED`).
    pub seeks_filtered: u64,
    /// Seeks that a filter let through (`*_LEVEL_SEEK_FILTER_MATCH`).
    pub seeks_matched: u64,
}

impl Tickers {
    /// Reads the tickers, or `None` when statistics are off.
    #[must_use]
    pub fn read(options: &Options) -> Option<Self> {
        let mut out = Self::default();
        // SAFETY: the options are alive, and the shim writes this very struct.
        unsafe { ffi::bl_tickers(options.as_raw_ptr(), &raw mut out) }.then_some(out)
    }

    /// What happened between an earlier reading and this one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            useful: self.useful.saturating_sub(earlier.useful),
            full_positive: self.full_positive.saturating_sub(earlier.full_positive),
            full_true_positive: self.full_true_positive.saturating_sub(earlier.full_true_positive),
            prefix_checked: self.prefix_checked.saturating_sub(earlier.prefix_checked),
            prefix_useful: self.prefix_useful.saturating_sub(earlier.prefix_useful),
            prefix_true_positive: self.prefix_true_positive.saturating_sub(earlier.prefix_true_positive),
            seeks_filtered: self.seeks_filtered.saturating_sub(earlier.seeks_filtered),
            seeks_matched: self.seeks_matched.saturating_sub(earlier.seeks_matched),
        }
    }

    /// Reads of files that did not have the key, although their filter let it through.
    #[must_use]
    pub fn wasted_reads(self) -> u64 {
        self.full_positive.saturating_sub(self.full_true_positive)
    }

    /// The share of filter questions about absent keys that were answered "may be present"; `None` before the
    /// first such question.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    pub fn false_positive_rate(self) -> Option<f64> {
        let absent = self.wasted_reads() + self.useful;
        (absent > 0).then(|| self.wasted_reads() as f64 / absent as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_leaves_true_positives_out() {
        let tickers =
            Tickers { useful: 990, full_positive: 110, full_true_positive: 100, ..Tickers::default() };
        assert_eq!(tickers.wasted_reads(), 10);
        assert_eq!(tickers.false_positive_rate(), Some(0.01));
        assert_eq!(tickers.since(tickers).false_positive_rate(), None);
    }
}
