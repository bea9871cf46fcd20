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

#include "abi.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "table/block_based/filter_policy_internal.h"

namespace bloomline {

// The callbacks given to bl_init.
extern const bl_callbacks* rust;

// A growable array of hashes. realloc moves a large one by remapping its pages
// where a vector would copy it, and the memory serves the next partition. Room
// that no hash has come to yet is not backed by memory. One thread uses it; any
// may ask for the size.
class HashBuffer {
 public:
  HashBuffer() = default;
  ~HashBuffer();
  HashBuffer(const HashBuffer&) = delete;
  HashBuffer& operator=(const HashBuffer&) = delete;

  bool full() const { return size() == capacity_; }
  void Grow();  // throws std::bad_alloc, as RocksDB's own builders do
  void Push(uint64_t hash) {  // not when full
    const size_t size = this->size();
    data_[size] = hash;
    set_size(size + 1);
  }
  void Clear() { set_size(0); }
  void Swap(HashBuffer& other) {
    const size_t size = this->size();
    set_size(other.size());
    other.set_size(size);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
  }
  bool empty() const { return size() == 0; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t back() const { return data_[size() - 1]; }
  uint64_t* data() { return data_; }
  const uint64_t* data() const { return data_; }

 private:
  void set_size(size_t size) { size_.store(size, std::memory_order_relaxed); }

  uint64_t* data_ = nullptr;
  std::atomic<size_t> size_{0};
  size_t capacity_ = 0;
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
  BitsBuilder(void* builder, bool detect_corruption)
      : builder_(builder), detect_corruption_(detect_corruption) {}
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
