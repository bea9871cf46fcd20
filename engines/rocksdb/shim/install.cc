// Options: installing, registering, finding the policy again, tickers.
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "filter.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb/version.h"

// The C API keeps its definitions of these to itself (db/c.cc); they are the
// whole of both structs, and the build refuses any other version of RocksDB.
struct rocksdb_options_t {
  rocksdb::Options rep;
};
struct rocksdb_t {
  rocksdb::DB* rep;
};

namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::FilterPolicy;
using rocksdb::ObjectLibrary;

const BlockBasedTableOptions* TableOptions(const rocksdb::Options& options) {
  return options.table_factory == nullptr
             ? nullptr
             : options.table_factory->GetOptions<BlockBasedTableOptions>();
}

// Copies of rocksdb::Options share their table factory, so a change in place
// would reach options, and open databases, that nobody named.
uint32_t Replace(rocksdb_options_t* options,
                 std::shared_ptr<const FilterPolicy> policy) {
  const BlockBasedTableOptions* current = TableOptions(options->rep);
  if (current == nullptr) {
    return BL_NOT_BLOCK_BASED;
  }
  BlockBasedTableOptions changed = *current;
  changed.filter_policy = std::move(policy);
  options->rep.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(changed));
  return BL_INSTALLED;
}

void Register() {
  ObjectLibrary::Default()->AddFactory<const FilterPolicy>(
      ObjectLibrary::PatternEntry(bloomline::Policy::kClassName(), false)
          .AddSeparator(":"),
      [](const std::string& uri, std::unique_ptr<const FilterPolicy>* guard,
         std::string* message) -> const FilterPolicy* {
        const std::string id =
            uri.substr(std::strlen(bloomline::Policy::kClassName()) + 1);
        std::array<char, 256> text{};
        const void* policy = bloomline::rust->policy_parse(
            id.data(), id.size(), text.data(), text.size());
        if (policy == nullptr) {
          *message = text.data();
          return nullptr;
        }
        guard->reset(new bloomline::Policy(policy));
        return guard->get();
      });
}

size_t CopyOut(const std::string& text, char* out, size_t cap) {
  if (out != nullptr) {
    std::memcpy(out, text.data(), text.size() < cap ? text.size() : cap);
  }
  return text.size();
}

}  // namespace

extern "C" {

bool bl_init(const bl_callbacks* callbacks) {
  const std::string compiled = std::to_string(ROCKSDB_MAJOR) + "." +
                               std::to_string(ROCKSDB_MINOR) + "." +
                               std::to_string(ROCKSDB_PATCH);
  if (rocksdb::GetRocksVersionAsString(true) != compiled) {
    return false;
  }
  static std::once_flag once;
  std::call_once(once, [callbacks] {
    bloomline::rust = callbacks;
    Register();
  });
  return true;
}

uint32_t bl_install(rocksdb_options_t* options, const void* policy) {
  return Replace(options, std::make_shared<bloomline::Policy>(policy));
}

uint32_t bl_uninstall(rocksdb_options_t* options) {
  return Replace(options, nullptr);
}

const void* bl_installed(const rocksdb_options_t* options) {
  const BlockBasedTableOptions* table = TableOptions(options->rep);
  const bloomline::Policy* policy =
      table == nullptr ? nullptr
                       : bloomline::AsBloomline(table->filter_policy.get());
  return policy == nullptr ? nullptr : policy->rust_policy();
}

void bl_visit_in_use(rocksdb_t* db, void (*visit)(const void*, void*),
                     void* arg) {
  // A copy: it keeps the factory, and so the policy, while we look.
  const rocksdb::Options options = db->rep->GetOptions();
  const BlockBasedTableOptions* table = TableOptions(options);
  const bloomline::Policy* policy =
      table == nullptr ? nullptr
                       : bloomline::AsBloomline(table->filter_policy.get());
  if (policy != nullptr) {
    visit(policy->rust_policy(), arg);
  }
}

size_t bl_policy_name(const rocksdb_options_t* options, char* out, size_t cap) {
  const BlockBasedTableOptions* table = TableOptions(options->rep);
  return CopyOut(table == nullptr || table->filter_policy == nullptr
                     ? std::string()
                     : table->filter_policy->GetId(),
                 out, cap);
}

bool bl_tickers(const rocksdb_options_t* options, bl_ticker_values* out) {
  const auto& statistics = options->rep.statistics;
  if (statistics == nullptr) {
    return false;
  }
  const auto count = [&](uint32_t ticker) {
    return statistics->getTickerCount(ticker);
  };
  out->useful = count(rocksdb::BLOOM_FILTER_USEFUL);
  out->full_positive = count(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  out->full_true_positive = count(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  out->prefix_checked = count(rocksdb::BLOOM_FILTER_PREFIX_CHECKED);
  out->prefix_useful = count(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
  out->prefix_true_positive = count(rocksdb::BLOOM_FILTER_PREFIX_TRUE_POSITIVE);
  out->seeks_filtered = count(rocksdb::LAST_LEVEL_SEEK_FILTERED) +
                        count(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED);
  out->seeks_matched = count(rocksdb::LAST_LEVEL_SEEK_FILTER_MATCH) +
                       count(rocksdb::NON_LAST_LEVEL_SEEK_FILTER_MATCH);
  return true;
}

}  // extern "C"
