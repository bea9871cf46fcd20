// RocksDB's filter interfaces by hand, for tests and benchmarks: any policy that
// the object registry can name, its builders and its readers, without a
// database. src/testing.rs is the only caller. Loops over many keys run here,
// so that a measured call is the virtual call that RocksDB would make.
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "filter.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"

using rocksdb::FilterBitsBuilder;
using rocksdb::FilterBitsReader;
using rocksdb::FilterPolicy;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

struct TestPolicy {
  std::shared_ptr<const FilterPolicy> policy;
};

struct TestBuilder {
  // The context that builders are made with refers to these options.
  rocksdb::BlockBasedTableOptions options;
  std::shared_ptr<const FilterPolicy> policy;
  std::unique_ptr<FilterBitsBuilder> builder;
  std::unique_ptr<const char[]> block;
};

}  // namespace

extern "C" {

struct bl_test_key {
  const char* data;
  size_t size;
};

// A policy by its registered name and parameters, or null.
TestPolicy* bl_test_policy_new(const char* id) {
  rocksdb::ConfigOptions config;
  config.ignore_unsupported_options = false;
  auto made = std::make_unique<TestPolicy>();
  const Status s = FilterPolicy::CreateFromString(config, id, &made->policy);
  return s.ok() && made->policy != nullptr ? made.release() : nullptr;
}

// A policy around a Rust policy, of which it takes over the reference.
TestPolicy* bl_test_policy_wrap(const void* policy) {
  auto made = std::make_unique<TestPolicy>();
  made->policy = std::make_shared<bloomline::Policy>(policy);
  return made.release();
}

void bl_test_policy_free(TestPolicy* policy) { delete policy; }

// A builder as a table would get it, or null for "no filter".
TestBuilder* bl_test_builder_new(const TestPolicy* policy, int32_t level,
                                 bool detect_corruption) {
  auto made = std::make_unique<TestBuilder>();
  made->policy = policy->policy;
  made->options.detect_filter_construct_corruption = detect_corruption;
  // Otherwise RocksDB chooses the probes of small filters by their rounded size.
  made->options.optimize_filters_for_memory = false;
  rocksdb::FilterBuildingContext context(made->options);
  context.level_at_creation = level;
  context.num_levels = 7;
  context.reason = rocksdb::TableFileCreationReason::kCompaction;
  made->builder.reset(policy->policy->GetBuilderWithContext(context));
  return made->builder == nullptr ? nullptr : made.release();
}

void bl_test_builder_free(TestBuilder* builder) { delete builder; }

void bl_test_builder_add(TestBuilder* builder, const bl_test_key* keys,
                         size_t n) {
  for (size_t i = 0; i < n; ++i) {
    builder->builder->AddKey(Slice(keys[i].data, keys[i].size));
  }
}

void bl_test_builder_add_with_alt(TestBuilder* builder, const bl_test_key* key,
                                  const bl_test_key* alt) {
  builder->builder->AddKeyAndAlt(Slice(key->data, key->size),
                                 Slice(alt->data, alt->size));
}

size_t bl_test_builder_entries(TestBuilder* builder) {
  return builder->builder->EstimateEntriesAdded();
}

size_t bl_test_builder_space(TestBuilder* builder, size_t n) {
  return builder->builder->CalculateSpace(n);
}

size_t bl_test_builder_approximate(TestBuilder* builder, size_t bytes) {
  return builder->builder->ApproximateNumEntries(bytes);
}

double bl_test_builder_rate(TestBuilder* builder, size_t n, size_t bytes) {
  return builder->builder->EstimatedFpRate(n, bytes);
}

// The block, which the builder keeps until the next one. False: Corruption.
bool bl_test_builder_finish(TestBuilder* builder, const uint8_t** data,
                            size_t* len) {
  Status status;
  const Slice block = builder->builder->Finish(&builder->block, &status);
  *data = reinterpret_cast<const uint8_t*>(block.data());
  *len = block.size();
  return status.ok();
}

bool bl_test_builder_verify(TestBuilder* builder, const uint8_t* data,
                            size_t len) {
  return builder->builder
      ->MaybePostVerify(Slice(reinterpret_cast<const char*>(data), len))
      .ok();
}

// Flips one bit of the first collected hash, as faulty memory would. Only for
// Bloomline's builders: returns false for any other policy's.
bool bl_test_builder_damage(TestBuilder* builder) {
  if (bloomline::AsBloomline(builder->policy.get()) == nullptr) {
    return false;
  }
  auto* own = static_cast<bloomline::BitsBuilder*>(builder->builder.get());
  if (own->hashes().empty()) {
    return false;
  }
  own->hashes()[0] ^= 1;
  return true;
}

// Null means "may match", as it does to RocksDB.
FilterBitsReader* bl_test_reader_new(const TestPolicy* policy,
                                     const uint8_t* data, size_t len) {
  return policy->policy->GetFilterBitsReader(
      Slice(reinterpret_cast<const char*>(data), len));
}

void bl_test_reader_free(FilterBitsReader* reader) { delete reader; }

// Asks for each key alone; returns how many may match. `answers` may be null.
size_t bl_test_reader_probe(FilterBitsReader* reader, const bl_test_key* keys,
                            size_t n, bool* answers) {
  size_t maybe = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool answer = reader->MayMatch(Slice(keys[i].data, keys[i].size));
    maybe += answer ? 1 : 0;
    if (answers != nullptr) {
      answers[i] = answer;
    }
  }
  return maybe;
}

// Asks for each ready hash: the lookup less the hash of its key. Every reader is
// a BuiltinFilterBitsReader: BitsReader is one, and so is all that RocksDB's
// policies make. RocksDB's legacy reader answers "absent" to every hash.
size_t bl_test_reader_probe_hashes(FilterBitsReader* reader,
                                   const uint64_t* hashes, size_t n) {
  auto* by_hash = static_cast<rocksdb::BuiltinFilterBitsReader*>(reader);
  size_t maybe = 0;
  for (size_t i = 0; i < n; ++i) {
    maybe += by_hash->HashMayMatch(hashes[i]) ? 1 : 0;
  }
  return maybe;
}

// Asks for the keys in batches of `batch`, at most 32, as MultiGet does.
size_t bl_test_reader_probe_batch(FilterBitsReader* reader,
                                  const bl_test_key* keys, size_t n,
                                  size_t batch, bool* answers) {
  std::array<Slice, 32> slices;
  std::array<Slice*, 32> pointers;
  std::array<bool, 32> out;
  for (size_t i = 0; i < slices.size(); ++i) {
    pointers[i] = &slices[i];
  }
  size_t maybe = 0;
  for (size_t begin = 0; begin < n; begin += batch) {
    const size_t count = n - begin < batch ? n - begin : batch;
    for (size_t i = 0; i < count; ++i) {
      slices[i] = Slice(keys[begin + i].data, keys[begin + i].size);
    }
    // What is left in `out` is neither answer: only element 0 may be relied on.
    std::memset(out.data(), 0xa5, out.size());
    out[0] = true;
    reader->MayMatch(static_cast<int>(count), pointers.data(), out.data());
    for (size_t i = 0; i < count; ++i) {
      uint8_t raw = 0;
      std::memcpy(&raw, &out[i], 1);
      maybe += raw == 1 ? 1 : 0;
      if (answers != nullptr) {
        std::memcpy(&answers[begin + i], &out[i], 1);
      }
    }
  }
  return maybe;
}

}  // extern "C"
