#include "filter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "util/hash.h"
#include "util/xxph3.h"

using rocksdb::FilterBuildingContext;
using rocksdb::GetSliceHash64;
using rocksdb::Slice;
using rocksdb::Status;

namespace bloomline {

const bl_callbacks* rust = nullptr;

namespace {

// Keys up to here are hashed by straight code in a handful of registers; longer
// ones take more, which every function that hashes them has to save.
constexpr size_t kShortKey = 32;

// GetSliceHash64, inlined: the same function (util/hash.cc), less a call that
// costs a tenth of a lookup.
inline uint64_t InlinedHash(const Slice& key) {
  return XXPH3_64bits(key.data(), key.size());
}

// Kept on this side, because Rust can't say that a thread's variable is one of
// those that the program starts with: it would call a function for the address,
// and a lookup would save registers for that call.
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local size_t counter_slot = SIZE_MAX;

// Six zero bytes: "no probes", which every reader takes as "may match".
Slice FinishMayMatch(std::unique_ptr<const char[]>* buf) {
  constexpr size_t kLength = 6;
  buf->reset(new char[kLength]());
  return Slice(buf->get(), kLength);
}

// Asks for huge pages where the array has whole ones: page by page, the faults
// of a large array take as long as what is done in it. Only advice.
void WantHugePages(void* data, const size_t bytes) {
#if defined(__linux__)
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const auto address = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
#endif
}

void Set(Status* status, Status value) {
  if (status != nullptr) {
    *status = std::move(value);
  } else {
    value.PermitUncheckedError();
  }
}

}  // namespace

// ---- HashBuffer ----

void HashBuffer::Grow() {
  const size_t used = (size() + BL_CHUNK - 1) / BL_CHUNK;
  if (used == chunks_.size()) {
    std::unique_ptr<uint64_t[]> chunk(new uint64_t[BL_CHUNK]);
    chunks_.push_back(chunk.get());
    chunk.release();
  }
  next_ = chunks_[used];
  limit_ = next_ + BL_CHUNK;
}

void HashBuffer::MakeOnePiece() {
  uint64_t* const all = new uint64_t[size()];
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const size_t begin = std::min(i * BL_CHUNK, size());
    const size_t n = std::min(BL_CHUNK, size() - begin);
    std::memcpy(all + begin, chunks_[i], n * sizeof(uint64_t));
    // Freed at once, so that there are never two copies of all.
    delete[] chunks_[i];
    chunks_[i] = all + begin;
  }
  one_piece_ = true;
}

void HashBuffer::Clear() {
  if (one_piece_) {
    Free();
  }
  next_ = limit_ = nullptr;
  size_.store(0, std::memory_order_relaxed);
}

void HashBuffer::Free() {
  for (uint64_t* const chunk : chunks_) {
    delete[] chunk;
    if (one_piece_) {
      break;
    }
  }
  chunks_.clear();
  one_piece_ = false;
}

void HashBuffer::Swap(HashBuffer& other) {
  std::swap(chunks_, other.chunks_);
  std::swap(one_piece_, other.one_piece_);
  std::swap(next_, other.next_);
  std::swap(limit_, other.limit_);
  std::swap(last_, other.last_);
  const size_t size = this->size();
  size_.store(other.size(), std::memory_order_relaxed);
  other.size_.store(size, std::memory_order_relaxed);
}

// ---- BitsBuilder ----

BitsBuilder::~BitsBuilder() { rust->builder_free(builder_); }

inline void BitsBuilder::Add(const uint64_t hash) {
  if (hashes_.full()) {
    return GrowAndAdd(hash);
  }
  checksum_ ^= hash;
  hashes_.Push(hash);
}

void BitsBuilder::GrowAndAdd(const uint64_t hash) {
  hashes_.Grow();
  checksum_ ^= hash;
  hashes_.Push(hash);
}

// Input is sorted, so repeats are adjacent, and dropping them here keeps the
// count, and so the size of the filter, true.
inline void BitsBuilder::AddUnlessRepeated(const uint64_t hash) {
  if (hashes_.empty() || hash != hashes_.last()) {
    Add(hash);
  }
}

// The rare ways, a long key and a full buffer, are the last things that AddKey
// does: jumps for which the usual way has to keep nothing.
void BitsBuilder::AddKey(const Slice& key) {
  if (key.size() > kShortKey) {
    return AddLongKey(key);
  }
  AddUnlessRepeated(InlinedHash(key));
}

void BitsBuilder::AddLongKey(const Slice& key) {
  AddUnlessRepeated(GetSliceHash64(key));
}

// The alternate goes first, so that hashes_.last() is the previous key: a new
// prefix implies a new key. Each is compared with the previous key, the
// previous alternate and the other of the pair, for a key may be its own
// prefix. The rules are those of RocksDB's builder, to the letter, because the
// count decides the size of the block.
void BitsBuilder::AddKeyAndAlt(const Slice& key, const Slice& alt) {
  const uint64_t key_hash = GetSliceHash64(key);
  const uint64_t alt_hash = GetSliceHash64(alt);
  const bool has_previous_key = !hashes_.empty();
  const uint64_t previous_key = has_previous_key ? hashes_.last() : 0;
  const bool had_previous_alt = has_previous_alt_;
  const uint64_t previous_alt = previous_alt_;

  const bool alt_is_new = !(had_previous_alt && alt_hash == previous_alt) &&
                          !(has_previous_key && alt_hash == previous_key) &&
                          alt_hash != key_hash;
  if (alt_is_new) {
    Add(alt_hash);
  }
  has_previous_alt_ = true;
  previous_alt_ = alt_hash;
  const bool key_is_new = !(has_previous_key && key_hash == previous_key) &&
                          !(had_previous_alt && key_hash == previous_alt);
  if (key_is_new) {
    Add(key_hash);
  }
}

// Back to the state of a new builder, which the next partition relies on.
void BitsBuilder::Reset() {
  hashes_.Clear();
  has_previous_alt_ = false;
  previous_alt_ = 0;
  checksum_ = 0;
}

Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* buf, Status* status) {
  finished_.Clear();
  if (hashes_.empty()) {
    Reset();
    Set(status, Status::OK());
    return Slice(nullptr, 0);
  }

  if (detect_corruption_) {
    uint64_t checksum = 0;
    for (size_t i = 0; i < hashes_.size(); ++i) {
      checksum ^= hashes_[i];
    }
    if (checksum != checksum_) {
      Reset();
      Set(status, Status::Corruption("Bloomline: hashes changed in memory "
                                     "before the filter was built"));
      return FinishMayMatch(buf);
    }
  }

  if (one_piece_) {
    hashes_.MakeOnePiece();
  }
  const size_t length = rust->builder_prepare(builder_, hashes_.View());
  std::unique_ptr<char[]> block;
  bool written = false;
  if (length > 0) {
    block.reset(new char[length]);
    WantHugePages(block.get(), length);
    std::memset(block.get(), 0, length);
    written = rust->builder_write(builder_, hashes_.View(),
                                  reinterpret_cast<uint8_t*>(block.get()),
                                  length);
  }
  if (detect_corruption_ && written) {
    finished_.Swap(hashes_);
  }
  Reset();
  Set(status, Status::OK());
  if (!written) {
    return FinishMayMatch(buf);
  }
  Slice result(block.get(), length);
  *buf = std::move(block);
  return result;
}

Status BitsBuilder::MaybePostVerify(const Slice& content) {
  if (!detect_corruption_ || finished_.empty()) {
    return Status::OK();
  }
  const bool sound = rust->builder_verify(
      builder_, finished_.View(),
      reinterpret_cast<const uint8_t*>(content.data()), content.size());
  finished_.Clear();
  return sound ? Status::OK()
               : Status::Corruption("Bloomline: the finished filter denies a "
                                    "key that was added");
}

size_t BitsBuilder::ApproximateNumEntries(size_t bytes) {
  return rust->builder_entries(builder_, bytes);
}

size_t BitsBuilder::CalculateSpace(size_t num_entries) {
  return rust->builder_space(builder_, num_entries);
}

double BitsBuilder::EstimatedFpRate(size_t num_entries, size_t bytes) {
  return rust->builder_rate(builder_, num_entries, bytes);
}

// ---- BitsReader ----

inline bool BitsReader::Probe(const uint64_t hash) const {
  return reader_.probe(reader_.state, hash, counter_slot);
}

bool BitsReader::HashMayMatch(const uint64_t hash) { return Probe(hash); }

// As in AddKey, the rare way is the last thing that this one does.
bool BitsReader::MayMatch(const Slice& key) {
  if (key.size() > kShortKey) {
    return LongMayMatch(key);
  }
  return Probe(InlinedHash(key));
}

bool BitsReader::LongMayMatch(const Slice& key) {
  return Probe(InlinedHash(key));
}

// RocksDB sets only may_match[0] beforehand, so every element is written here.
void BitsReader::MayMatch(int num_keys, Slice** keys, bool* may_match) {
  constexpr int kBatch = 32;
  std::array<uint64_t, kBatch> hashes;
  for (int begin = 0; begin < num_keys; begin += kBatch) {
    const int n = num_keys - begin < kBatch ? num_keys - begin : kBatch;
    for (int i = 0; i < n; ++i) {
      hashes[i] = InlinedHash(*keys[begin + i]);
    }
    reader_.probe_batch(reader_.state, hashes.data(), static_cast<size_t>(n),
                        may_match + begin, counter_slot);
  }
}

// ---- Policy ----

Policy::~Policy() { rust->policy_release(policy_); }

std::string Policy::GetId() const {
  std::string id(rust->policy_id(policy_, nullptr, 0), '\0');
  rust->policy_id(policy_, id.data(), id.size());
  return std::string(kClassName()) + ":" + id;
}

const char* Policy::CompatibilityName() const {
  return rocksdb::ReadOnlyBuiltinFilterPolicy::kClassName();
}

const rocksdb::FilterPolicy& Policy::BuiltIn(uint32_t kind,
                                             double bits_per_key) const {
  std::lock_guard<std::mutex> lock(built_in_mutex_);
  auto& slot = built_in_[{kind, bits_per_key}];
  if (slot == nullptr) {
    slot.reset(kind == BL_ROCKSDB_BLOOM
                   ? rocksdb::NewBloomFilterPolicy(bits_per_key)
                   // -1: Ribbon at every level; which level is decided here.
                   : rocksdb::NewRibbonFilterPolicy(bits_per_key, -1));
  }
  return *slot;
}

rocksdb::FilterBitsBuilder* Policy::GetBuilderWithContext(
    const FilterBuildingContext& context) const {
  bl_context where{};
  where.level = context.level_at_creation;
  where.num_levels = context.num_levels;
  where.bottommost = context.is_bottommost ? 1 : 0;
  where.reason = static_cast<uint8_t>(context.reason);
  bl_choice choice{};
  rust->policy_choose(policy_, &where, &choice);
  switch (choice.kind) {
    case BL_OWN:
      return new BitsBuilder(
          choice.builder, choice.one_piece,
          context.table_options.detect_filter_construct_corruption);
    case BL_ROCKSDB_BLOOM:
    case BL_ROCKSDB_RIBBON:
      return BuiltIn(choice.kind, choice.bits_per_key)
          .GetBuilderWithContext(context);
    default:
      return nullptr;
  }
}

// A null reader means "may match" to RocksDB.
rocksdb::FilterBitsReader* Policy::GetFilterBitsReader(
    const Slice& contents) const {
  bl_reader reader{};
  switch (rust->reader_open(policy_,
                            reinterpret_cast<const uint8_t*>(contents.data()),
                            contents.size(), &reader)) {
    case BL_OPEN_OWN:
      return new BitsReader(reader);
    case BL_OPEN_ROCKSDB:
      return rocksdb::BuiltinFilterPolicy::GetBuiltinFilterBitsReader(contents);
    default:
      return nullptr;
  }
}

const Policy* AsBloomline(const rocksdb::FilterPolicy* policy) {
  if (policy == nullptr || policy->Name() != Policy::kClassName()) {
    return nullptr;
  }
  return static_cast<const Policy*>(policy);
}

}  // namespace bloomline

extern "C" uint64_t bl_key_hash(const char* key, size_t len) {
  return GetSliceHash64(Slice(key, len));
}

extern "C" void bl_set_counter_slot(size_t slot) {
  bloomline::counter_slot = slot;
}
