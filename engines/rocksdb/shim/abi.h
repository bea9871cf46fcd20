// The border between RocksDB's C++ classes and Bloomline's Rust code.
//
// C++ owns what RocksDB insists on: virtual tables, `new char[]` buffers,
// status objects, the object registry. Rust owns what a filter is: which kind
// a file gets, how large it is, its bits and how they are probed.
//
// Rules that both sides keep:
//  - Nothing unwinds across. The Rust functions catch their panics and return
//    the safe answer that each declaration names.
//  - Every `void*` of a kind is made by one side and freed by that side.
//  - Readers never refer to a policy: a filter block in a shared cache outlives
//    the table, the database and the policy it was opened with.
//  - src/ffi.rs mirrors this file, field by field and in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Where and why RocksDB makes a file, for the choice of its filter.
struct bl_context {
  int32_t level;       // -1: unknown
  int32_t num_levels;  // -1: unknown
  uint8_t bottommost;  // 0 or 1
  uint8_t reason;      // rocksdb::TableFileCreationReason
};

// What a file gets.
enum bl_choice_kind : uint32_t {
  BL_NO_FILTER = 0,
  BL_OWN = 1,             // `builder` is set and belongs to the caller
  BL_ROCKSDB_BLOOM = 2,   // RocksDB's own, with `bits_per_key`
  BL_ROCKSDB_RIBBON = 3,  // RocksDB's own, with `bits_per_key`
};

struct bl_choice {
  uint32_t kind;
  double bits_per_key;
  void* builder;
  bool one_piece;  // the builder wants its hashes in one piece
};

// Hashes in chunks of BL_CHUNK, the last of what is left.
constexpr size_t BL_CHUNK = 8192;

struct bl_hashes {
  const uint64_t* const* chunks;
  size_t n;        // of hashes
  bool one_piece;  // all chunks follow each other in one array
};

// How a stored filter is to be read.
enum bl_open_kind : uint32_t {
  BL_OPEN_MAY_MATCH = 0,  // not understood: every key may be present
  BL_OPEN_OWN = 1,        // `bl_reader` is filled
  BL_OPEN_ROCKSDB = 2,    // a kind that RocksDB's own reader understands
};

// An open filter. Both probes may be called by many threads at once. `slot` is
// what the calling thread last gave to bl_set_counter_slot, else SIZE_MAX.
struct bl_reader {
  // Whether the key with this hash may be present. On a panic: true.
  bool (*probe)(const void* state, uint64_t hash, size_t slot);
  // The same for n hashes, every out[i] written. On a panic: all true.
  void (*probe_batch)(const void* state, const uint64_t* hashes, size_t n,
                      bool* out, size_t slot);
  void (*free)(void* state);
  void* state;
};

// What C++ calls. One static table, given to bl_init.
struct bl_callbacks {
  // Drops the policy's reference. `policy` may not be used afterwards.
  void (*policy_release)(const void* policy);
  // On a panic: BL_NO_FILTER.
  void (*policy_choose)(const void* policy, const bl_context* context,
                        bl_choice* out);
  // The text that recreates the policy. Writes at most `cap` bytes, returns
  // the length that it needs (0 on a panic).
  size_t (*policy_id)(const void* policy, char* out, size_t cap);
  // A policy from its text, or null with a message of at most `cap` bytes
  // including its NUL.
  const void* (*policy_parse)(const char* id, size_t len, char* message,
                              size_t cap);

  // Bytes of a filter of n keys, in constant time.
  size_t (*builder_space)(const void* builder, size_t n);
  // Keys that fit into so many bytes.
  size_t (*builder_entries)(const void* builder, size_t bytes);
  // Expected false-positive rate of n keys in so many bytes.
  double (*builder_rate)(const void* builder, size_t n, size_t bytes);
  // First half of building, of at least one hash: the exact length of the
  // block, or 0 when no filter can be made (also on a panic).
  size_t (*builder_prepare)(void* builder, bl_hashes hashes);
  // Second half: fills out[0..len), which is all zero, with the same hashes.
  // False: the buffer is not a filter (also on a panic).
  bool (*builder_write)(void* builder, bl_hashes hashes, uint8_t* out,
                        size_t len);
  // Whether the block answers "may be present" for every hash.
  bool (*builder_verify)(const void* builder, bl_hashes hashes,
                         const uint8_t* block, size_t len);
  void (*builder_free)(void* builder);

  // Opens a stored filter; the bytes outlive the reader. On a panic:
  // BL_OPEN_MAY_MATCH.
  uint32_t (*reader_open)(const void* policy, const uint8_t* block, size_t len,
                          bl_reader* out);
};

// ---- What Rust calls ----

struct rocksdb_options_t;
struct rocksdb_t;

// Gives C++ the callbacks and registers the name "bloomline" with RocksDB's
// object registry. Only the first call does anything. `callbacks` stays valid
// for the life of the process. False: the linked RocksDB is not the version
// that the shim was compiled against; nothing else may then be called.
bool bl_init(const bl_callbacks* callbacks);

// RocksDB's 64-bit hash of a key, which Bloomline's filters are over.
uint64_t bl_key_hash(const char* key, size_t len);

// Where the calling thread counts its probes from now on: src/counters.rs says
// what the number means.
void bl_set_counter_slot(size_t slot);

enum bl_install_result : uint32_t {
  BL_INSTALLED = 0,
  BL_NOT_BLOCK_BASED = 1,
};

// Makes a new table factory with the same options and this policy. Takes over
// the reference to `policy`, also on failure.
uint32_t bl_install(rocksdb_options_t* options, const void* policy);

// Takes any filter policy out of the options, in the same way.
uint32_t bl_uninstall(rocksdb_options_t* options);

// The Bloomline policy in these options, or null. The reference is borrowed
// from the options.
const void* bl_installed(const rocksdb_options_t* options);

// The Bloomline policy that a database's default column family now uses, or
// null. `visit` is called with it while it is certainly alive.
void bl_visit_in_use(rocksdb_t* db, void (*visit)(const void* policy, void* arg),
                     void* arg);

// The name that OPTIONS files would store for the filter policy in these
// options ("" for none). Same convention as policy_id.
size_t bl_policy_name(const rocksdb_options_t* options, char* out, size_t cap);

// RocksDB's filter tickers; src/tickers.rs says what they mean.
struct bl_ticker_values {
  uint64_t useful;
  uint64_t full_positive;
  uint64_t full_true_positive;
  uint64_t prefix_checked;
  uint64_t prefix_useful;
  uint64_t prefix_true_positive;
  uint64_t seeks_filtered;
  uint64_t seeks_matched;
};

// False: statistics are off, and nothing is written.
bool bl_tickers(const rocksdb_options_t* options, bl_ticker_values* out);

// One file seen by bl_inspect.
struct bl_table {
  uint64_t entries;         // num_entries
  uint64_t filter_entries;  // num_filter_entries, 0 when not recorded
  uint64_t filter_bytes;    // filter_size
  uint32_t format_version;
  uint8_t partitioned;      // 0 or 1
  const char* filter_name;  // compatibility name in the metaindex, or ""
  const char* policy_name;  // filter_policy_name property
};

enum bl_inspect_result : int {
  BL_INSPECTED = 0,
  BL_DAMAGED = 1,  // the file was read, and is not what it should be
  BL_UNREAD = 2,
};

// Reads the filter blocks of one .sst file, checksums verified. Calls `table`
// once, then `block` for each filter or partition, with its place in the file.
// Writes a message (NUL-terminated) unless it returns BL_INSPECTED.
int bl_inspect(const char* path, void* arg,
               void (*table)(void* arg, const bl_table* table),
               void (*block)(void* arg, uint64_t offset, const uint8_t* data,
                             size_t len),
               char* message, size_t cap);

}  // extern "C"
