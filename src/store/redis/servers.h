// Servers: one Redis, a cluster, or the master that sentinels name. Sends commands to the node that has the keys, and
// follows keys that move and masters that change.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/script.h"
#include "store/redis/slot.h"
#include "store/redis/url.h"

namespace pawl::store::redis {

class Servers {
 public:
  Servers(Url url, ConnectionOptions options, std::size_t connections_max);
  ~Servers();

  // Finds the nodes of a cluster.
  Status open();

  // All commands are about keys of one tag. One reply for each, none of them a redirection. They are either reads, or a
  // single command, or a transaction: when a key moves all of them are sent again.
  Result<std::vector<Reply>> ask(std::string_view tag, const Commands& commands);
  // Several of these, only reads: those of one node share a round trip. One answer for each.
  struct Question {
    std::string tag;
    Commands commands;
  };
  std::vector<Result<std::vector<Reply>>> ask_each(const std::vector<Question>& questions);
  // One script call; if the server does not have the script, it is sent again. It is called as a function of the
  // server, if it is one and this user may.
  Result<Reply> run(std::string_view tag, const Script& script, const std::vector<std::string>& keys,
                    std::span<const std::string_view> arguments);
  Result<Reply> run(std::string_view tag, const Script& script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& arguments) {
    const std::vector<std::string_view> views(arguments.begin(), arguments.end());
    return run(tag, script, keys, std::span<const std::string_view>(views));
  }
  // Several steps on one connection, for WATCH. They are repeated as a whole when a key moves: `steps` returns the
  // replies that may be redirections.
  //
  // A slot that is moving has some keys on the old node and some on the new one. A single command follows its keys
  // (ASK): if it has several keys, the server itself reports that they are apart. Several commands wait until the slot
  // has moved: on the new node the keys that are still on the old one would be missing, and would be taken as never
  // written.
  enum class Kind : bool { several, single };
  using Steps = std::function<Result<std::vector<Reply>>(Connection&)>;
  Result<std::vector<Reply>> converse(std::string_view tag, const Steps& steps, Kind kind = Kind::several);

  // All masters.
  Result<std::vector<Address>> masters();
  Result<std::vector<Reply>> ask_node(const Address& node, const Commands& commands);
  // A connection for the caller alone, to any node: for listening.
  Result<std::unique_ptr<Connection>> connect_apart();

  bool is_cluster() const { return url_.cluster; }
  const Url& url() const { return url_; }
  std::size_t round_trips() const { return round_trips_; }

 private:
  class Lent;  // a connection that is in use
  struct Where {
    Address node;
    bool asking = false;
  };
  Result<std::vector<Reply>> call_function(std::string_view tag, const Script& script, const Commands& call);
  Result<Where> find_node(std::string_view tag);
  Result<std::unique_ptr<Connection>> take(const Address& node);
  void give_back(std::unique_ptr<Connection> connection);
  // Finds the current nodes of a cluster, or the master that the sentinels name.
  Status look_around();
  Status read_slots();
  Status read_slots_from(const Address& node);
  Status find_master();
  // Whether the replies redirect the call to another node; `where` is that node.
  enum class Turn : std::uint8_t { done, elsewhere, later };
  Turn look_at(const std::vector<Reply>& replies, std::string_view tag, Kind kind, Where& where);

  const Url url_;
  const ConnectionOptions options_;
  const std::size_t connections_max_;
  std::atomic<std::size_t> round_trips_{0};
  std::atomic<bool> has_functions_{true};  // as far as is known

  std::mutex mutex_;  // guards what is below
  std::condition_variable freed_;
  std::map<Address, std::vector<std::unique_ptr<Connection>>> idle_;
  std::map<Address, std::size_t> out_;
  std::vector<Address> nodes_;               // of a cluster: its masters; of sentinels: the master
  std::vector<std::uint32_t> node_of_slot_;  // of a cluster: an index, by slot
};

}  // namespace pawl::store::redis
