// Reads the filter blocks of one table file, for the inspector.
//
// RocksDB's own tools print the size of a file's filter and nothing about what
// is in it. This reads the file the way RocksDB's reader does (footer,
// metaindex, filter block or top-level index of partitions, all checksums
// verified) and hands each block out.
#include <cstring>
#include <memory>
#include <string>

#include "abi.h"
#include "file/random_access_file_reader.h"
#include "options/cf_options.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/options.h"
#include "rocksdb/persistent_cache.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_fetcher.h"
#include "table/format.h"
#include "table/meta_blocks.h"
#include "table/persistent_cache_options.h"

namespace rocksdb {
extern const uint64_t kBlockBasedTableMagicNumber;
}

namespace {

using rocksdb::Block;
using rocksdb::BlockBasedTable;
using rocksdb::BlockContents;
using rocksdb::BlockHandle;
using rocksdb::BlockType;
using rocksdb::Footer;
using rocksdb::Slice;
using rocksdb::Status;

class Inspector {
 public:
  explicit Inspector(std::string path)
      : path_(std::move(path)), ioptions_(options_) {}

  Status Open() {
    const auto& fs = options_.env->GetFileSystem();
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    Status s = fs->NewRandomAccessFile(path_, rocksdb::FileOptions(), &file,
                                       nullptr);
    if (!s.ok()) {
      return s;
    }
    s = fs->GetFileSize(path_, rocksdb::IOOptions(), &file_size_, nullptr);
    if (!s.ok()) {
      return s;
    }
    file_ = std::make_unique<rocksdb::RandomAccessFileReader>(std::move(file),
                                                              path_);
    BlockContents contents;
    s = rocksdb::ReadMetaIndexBlockInFile(
        file_.get(), file_size_, rocksdb::kBlockBasedTableMagicNumber,
        ioptions_, read_options_, &contents, nullptr, nullptr, &footer_);
    if (!s.ok()) {
      return s;
    }
    s = rocksdb::ReadTableProperties(
        file_.get(), file_size_, rocksdb::kBlockBasedTableMagicNumber,
        ioptions_, read_options_, &properties_);
    if (!s.ok()) {
      return s;
    }
    return FindFilter(std::move(contents));
  }

  bl_table Table() const {
    bl_table table{};
    table.entries = properties_->num_entries;
    table.filter_entries = properties_->num_filter_entries;
    table.filter_bytes = properties_->filter_size;
    table.format_version = footer_.format_version();
    table.partitioned = partitioned_ ? 1 : 0;
    table.filter_name = filter_name_.c_str();
    table.policy_name = properties_->filter_policy_name.c_str();
    return table;
  }

  // Calls visit(offset, data, len) for the filter or for each partition.
  template <typename Visit>
  Status Blocks(Visit visit) const {
    if (filter_name_.empty()) {
      return Status::OK();
    }
    if (!partitioned_) {
      return VisitBlock(handle_, visit);
    }
    BlockContents contents;
    Status s = Read(handle_, BlockType::kFilterPartitionIndex, &contents);
    if (!s.ok()) {
      return s;
    }
    Block index(std::move(contents));
    std::unique_ptr<rocksdb::IndexBlockIter> iter(index.NewIndexIterator(
        rocksdb::BytewiseComparator(), rocksdb::kDisableGlobalSequenceNumber,
        nullptr, nullptr, true /* total_order_seek */,
        false /* have_first_key */,
        properties_->index_key_is_user_key == 0 /* key_includes_seq */,
        properties_->index_value_is_delta_encoded == 0 /* value_is_full */));
    for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
      s = VisitBlock(iter->value().handle, visit);
      if (!s.ok()) {
        return s;
      }
    }
    return iter->status();
  }

 private:
  Status FindFilter(BlockContents&& metaindex) {
    Block block(std::move(metaindex));
    std::unique_ptr<rocksdb::InternalIterator> iter(block.NewMetaIterator());
    for (iter->SeekToFirst(); iter->Valid(); iter->Next()) {
      const Slice name = iter->key();
      for (const bool partitioned : {false, true}) {
        const std::string& prefix =
            partitioned ? BlockBasedTable::kPartitionedFilterBlockPrefix
                        : BlockBasedTable::kFullFilterBlockPrefix;
        if (name.starts_with(prefix)) {
          partitioned_ = partitioned;
          filter_name_ = name.ToString().substr(prefix.size());
          Slice value = iter->value();
          return handle_.DecodeFrom(&value);
        }
      }
    }
    return iter->status();
  }

  Status Read(const BlockHandle& handle, BlockType type,
              BlockContents* contents) const {
    return rocksdb::BlockFetcher(
               file_.get(), nullptr, footer_, read_options_, handle, contents,
               ioptions_, false /* decompress */, false /* maybe_compressed */,
               type, nullptr, rocksdb::PersistentCacheOptions::kEmpty)
        .ReadBlockContents();
  }

  template <typename Visit>
  Status VisitBlock(const BlockHandle& handle, Visit visit) const {
    BlockContents contents;
    const Status s = Read(handle, BlockType::kFilter, &contents);
    if (s.ok()) {
      visit(handle.offset(),
            reinterpret_cast<const uint8_t*>(contents.data.data()),
            contents.data.size());
    }
    return s;
  }

  const std::string path_;
  const rocksdb::Options options_;
  const rocksdb::ImmutableOptions ioptions_;
  const rocksdb::ReadOptions read_options_;
  uint64_t file_size_ = 0;
  std::unique_ptr<rocksdb::RandomAccessFileReader> file_;
  Footer footer_;
  std::unique_ptr<rocksdb::TableProperties> properties_;
  bool partitioned_ = false;
  std::string filter_name_;
  BlockHandle handle_;
};

}  // namespace

extern "C" int bl_inspect(const char* path, void* arg,
                          void (*table)(void*, const bl_table*),
                          void (*block)(void*, uint64_t, const uint8_t*,
                                        size_t),
                          char* message, size_t cap) {
  Inspector inspector{std::string(path)};
  Status s = inspector.Open();
  if (s.ok()) {
    const bl_table seen = inspector.Table();
    table(arg, &seen);
    s = inspector.Blocks(
        [&](uint64_t offset, const uint8_t* data, size_t len) {
          block(arg, offset, data, len);
        });
  }
  if (s.ok()) {
    return BL_INSPECTED;
  }
  const std::string text = s.ToString();
  if (cap > 0) {
    const size_t n = text.size() < cap - 1 ? text.size() : cap - 1;
    std::memcpy(message, text.data(), n);
    message[n] = '\0';
  }
  return s.IsCorruption() ? BL_DAMAGED : BL_UNREAD;
}
