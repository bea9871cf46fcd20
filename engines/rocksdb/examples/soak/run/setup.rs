//! How the database is opened in a round.

use std::fmt::{self, Display, Formatter};

use bloomline_rocksdb::FilterPolicy;
use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Cache, MergeOperands, Options, SliceTransform};

use super::worker::PREFIX_BYTES;

/// Policies by turns, as RocksDB's option strings name them: the plugin's, and a stock RocksDB's between them.
pub(crate) const POLICIES: [&str; 8] = [
    "bloomline:compact:0.01",
    "bloomline:blocked:10",
    "bloomfilter:10",
    "bloomline:levels:L0/blocked:14,bottom/compact:0.001,else/compact:0.02",
    "nullptr",
    "bloomline:levels:flush/compact:0.05,L0-2/rocksdb-ribbon:10,else/blocked:8",
    "ribbonfilter:10:-1",
    "bloomline:compact:0.0001",
];

/// A policy and a layout.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) policy: &'static str,
    pub(crate) partitioned: bool,
    /// Whether filters have prefixes beside whole keys.
    pub(crate) prefixes: bool,
    cached: bool,
    pub(crate) mapped: bool,
    detect_corruption: bool,
    optimize_for_hits: bool,
    partition_bytes: usize,
    memtable_bytes: usize,
}

impl Display for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} filters of {}", if self.partitioned { "partitioned" } else { "full" }, self.policy)?;
        for (is, text) in [
            (self.prefixes, "prefixes"),
            (self.cached, "filters in the block cache"),
            (self.mapped, "mapped files"),
            (self.detect_corruption, "corruption detected"),
            (self.optimize_for_hits, "optimized for hits"),
        ] {
            if is {
                write!(f, ", {text}")?;
            }
        }
        Ok(())
    }
}

/// The merge operator: operands are appended.
fn append(_: &[u8], existing: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let mut value = existing.unwrap_or_default().to_vec();
    operands.iter().for_each(|operand| value.extend_from_slice(operand));
    Some(value)
}

impl Setup {
    /// The setup of a round.
    pub(crate) fn choose(round: usize, random: &mut fastrand::Rng) -> Self {
        Self {
            policy: POLICIES[round % POLICIES.len()],
            partitioned: random.bool(),
            prefixes: random.bool(),
            cached: random.bool(),
            mapped: random.bool(),
            detect_corruption: random.bool(),
            optimize_for_hits: random.u8(0..4) == 0,
            partition_bytes: 1 << random.u32(8..13),
            memtable_bytes: 1 << random.u32(16..20),
        }
    }

    pub(crate) fn options(&self) -> Result<Options, String> {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(if self.cached { 256 << 10 } else { 8 << 20 }));
        table.set_cache_index_and_filter_blocks(self.cached);
        table.set_block_size(1 << 10);
        table.set_metadata_block_size(self.partition_bytes);
        if self.partitioned {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_partition_filters(true);
        }
        let mut options = Options::default();
        options.create_if_missing(true);
        options.enable_statistics();
        options.set_write_buffer_size(self.memtable_bytes);
        options.set_target_file_size_base(128 << 10);
        options.set_max_bytes_for_level_base(512 << 10);
        options.set_allow_mmap_reads(self.mapped);
        options.set_optimize_filters_for_hits(self.optimize_for_hits);
        options.set_merge_operator_associative("append", append);
        if self.prefixes {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX_BYTES));
        }
        options.set_block_based_table_factory(&table);
        FilterPolicy::register().map_err(|error| error.to_string())?;
        let text = format!(
            "block_based_table_factory={{filter_policy={};detect_filter_construct_corruption={}}}",
            self.policy, self.detect_corruption
        );
        options.get_options_from_string(text).map_err(|error| error.to_string())
    }
}
