// A Redis store as a move uses it: its servers and keys, and the store itself. The state of a move is in the catalogue:
// the field `move` of `store`, "<state> <the other store>".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/keys.h"
#include "store/redis/records.h"
#include "store/redis/servers.h"
#include "store/redis/store.h"
#include "store/transfer/site.h"

namespace pawl::store::redis {

Result<std::optional<transfer::Mark>> read_mark(Servers& servers, const Keys& keys);
// Before a store is opened for work.
Status check_mark(Servers& servers, const Keys& keys);

class TransferSite {
 public:
  static Result<std::unique_ptr<TransferSite>> open(const std::string& url, Options options);

  // The error of a single command is the error of the whole call.
  Result<std::vector<Reply>> ask(std::string_view tag, const Commands& commands);
  Result<std::vector<Reply>> ask(core::LaneId lane, const Commands& commands) { return ask(tag_of(lane), commands); }
  Result<Reply> ask_one(std::string_view tag, std::initializer_list<std::string_view> words);
  Result<Reply> ask_one(core::LaneId lane, std::initializer_list<std::string_view> words) {
    return ask_one(tag_of(lane), words);
  }
  Result<Reply> ask_catalogue(std::initializer_list<std::string_view> words) { return ask_one(catalogue_tag, words); }

  // Calls `see` with each key that has this prefix, on every node; perhaps twice.
  Status scan_keys(const std::string& beginning, const std::function<Status(const Address&, const std::string&)>& see);

  struct PoolRow {
    std::string pool;
    std::uint32_t first = 0, lanes = 0;
  };
  Result<std::vector<PoolRow>> read_pools();
  Result<std::vector<core::LaneId>> read_lanes();
  Result<std::uint64_t> count_jobs();
  Status write_mark(const transfer::Mark& mark);
  Status reopen();  // the store: it has another id

  Servers& servers() { return servers_; }
  const Keys& keys() const { return keys_; }
  Store& store() { return *store_; }

 private:
  TransferSite(std::string url, Url parsed, ConnectionOptions connection, Options options);
  const std::string url_;
  const Options options_;
  const Keys keys_;
  Servers servers_;
  std::unique_ptr<Store> store_;
};

}  // namespace pawl::store::redis
