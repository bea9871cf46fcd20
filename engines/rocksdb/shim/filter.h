// Bloomline's FilterPolicy, FilterBitsBuilder and FilterBitsReader.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "abi.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/block_based/filter_policy_internal.h"

namespace bloomline {

// The callbacks given to bl_init.
extern const bl_callbacks* rust;

// A growable list of hashes, in chunks. They serve the next partition; and they
// are small enough that malloc has them from memory that was used before, where
// the page faults of one large array take as long as hashing the keys.
//
// One thread uses it; any may ask for the size.
class HashBuffer {
 public:
  HashBuffer() = default;
  ~HashBuffer() { Free(); }
  HashBuffer(const HashBuffer&) = delete;
  HashBuffer& operator=(const HashBuffer&) = delete;

  bool full() const { return next_ == limit_; }
  void Grow();  // throws std::bad_alloc, as RocksDB's own builders do
  void Push(uint64_t hash) {  // not when full
    *next_++ = hash;
    last_ = hash;
    size_.store(size() + 1, std::memory_order_relaxed);
  }
  void Clear();
  void Swap(HashBuffer& other);

  bool empty() const { return size() == 0; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t last() const { return last_; }
  uint64_t& operator[](size_t i) { return chunks_[i / BL_CHUNK][i % BL_CHUNK]; }
  // Valid until the next change of the list.
  bl_hashes View() const { return {chunks_.data(), size(), one_piece_}; }
  // Moves all hashes into one array, chunk by chunk. Clear takes it apart again.
  void MakeOnePiece();

 private:
  void Free();

  // Each an array of its own, or, in one piece, all in the array of the first.
  std::vector<uint64_t*> chunks_;
  bool one_piece_ = false;
  uint64_t* next_ = nullptr;
  uint64_t* limit_ = nullptr;
  uint64_t last_ = 0;
  std::atomic<size_t> size_{0};
};

// Collects hashes, in RocksDB's order and with its rules for duplicates, and
// has Rust build the block. The life of one builder:
//
//   (AddKey | AddKeyAndAlt)* (Finish MaybePostVerify?)   for each partition
//
// One thread adds and finishes; EstimateEntriesAdded and CalculateSpace may be
// called by others at any time.
class BitsBuilder final : public rocksdb::FilterBitsBuilder {
 public:
  // Takes over `builder`.
  BitsBuilder(void* builder, bool one_piece, bool detect_corruption)
      : builder_(builder),
        one_piece_(one_piece),
        detect_corruption_(detect_corruption) {}
  ~BitsBuilder() override;
  BitsBuilder(const BitsBuilder&) = delete;
  BitsBuilder& operator=(const BitsBuilder&) = delete;

  void AddKey(const rocksdb::Slice& key) override;
  void AddKeyAndAlt(const rocksdb::Slice& key,
                    const rocksdb::Slice& alt) override;
  size_t EstimateEntriesAdded() override {
    return hashes_.size();
  }

  using rocksdb::FilterBitsBuilder::Finish;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override {
    return Finish(buf, nullptr);
  }
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf,
                        rocksdb::Status* status) override;
  rocksdb::Status MaybePostVerify(const rocksdb::Slice& content) override;

  size_t ApproximateNumEntries(size_t bytes) override;
  size_t CalculateSpace(size_t num_entries) override;
  double EstimatedFpRate(size_t num_entries, size_t bytes) override;

  // The hashes collected so far, for tests that damage them.
  HashBuffer& hashes() { return hashes_; }

 private:
  void AddLongKey(const rocksdb::Slice& key);
  void AddUnlessRepeated(uint64_t hash);
  void Add(uint64_t hash);
  void GrowAndAdd(uint64_t hash);
  void Reset();

  void* const builder_;
  const bool one_piece_;
  const bool detect_corruption_;
  HashBuffer hashes_;
  bool has_previous_alt_ = false;
  uint64_t previous_alt_ = 0;
  // XOR of every hash as it was added, to detect corruption. It costs less than
  // to ask whether that is wanted.
  uint64_t checksum_ = 0;
  // The hashes of the block that was finished last, for MaybePostVerify.
  HashBuffer finished_;
};

// One open filter block. RocksDB's own readers have the same base, so any of
// them, and this one, can be asked by ready hash too.
class BitsReader final : public rocksdb::BuiltinFilterBitsReader {
 public:
  // Takes over `reader.state`.
  explicit BitsReader(const bl_reader& reader) : reader_(reader) {}
  ~BitsReader() override { reader_.free(reader_.state); }
  BitsReader(const BitsReader&) = delete;
  BitsReader& operator=(const BitsReader&) = delete;

  bool MayMatch(const rocksdb::Slice& key) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;
  bool HashMayMatch(uint64_t hash) override;

 private:
  bool Probe(uint64_t hash) const;
  bool LongMayMatch(const rocksdb::Slice& key);

  const bl_reader reader_;
};

// The policy in a table factory's options.
class Policy final : public rocksdb::FilterPolicy {
 public:
  static const char* kClassName() { return "bloomline"; }

  // Takes over the reference.
  explicit Policy(const void* policy) : policy_(policy) {}
  ~Policy() override;

  const char* Name() const override { return kClassName(); }
  // Parameters included: this text is what an OPTIONS file stores.
  std::string GetId() const override;
  // RocksDB's own, so that filters that exist stay in use, and ours too when
  // the plugin is gone.
  const char* CompatibilityName() const override;
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override;
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& contents) const override;

  const void* rust_policy() const { return policy_; }

 private:
  // RocksDB's own policy of a kind. Kept, because its builders refer to it.
  const rocksdb::FilterPolicy& BuiltIn(uint32_t kind, double bits_per_key) const;

  const void* const policy_;
  mutable std::mutex built_in_mutex_;
  mutable std::map<std::pair<uint32_t, double>,
                   std::unique_ptr<const rocksdb::FilterPolicy>>
      built_in_;
};

// The policy as ours, or null. Compares the address of the name, so that
// another copy of this library in the process is never mistaken for this one.
const Policy* AsBloomline(const rocksdb::FilterPolicy* policy);

}  // namespace bloomline
