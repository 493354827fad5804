// Servers: one Redis, a cluster of them, or the one that sentinels call the master. Sends commands to the node that has
// the keys, and follows keys that move and masters that change.
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
  // Several such, only reads: those of one node share a round trip. One answer for each.
  struct Question {
    std::string tag;
    Commands commands;
  };
  std::vector<Result<std::vector<Reply>>> ask_each(const std::vector<Question>& questions);
  // One script call; a server that has forgotten the script is told it again.
  Result<Reply> run(std::string_view tag, const Script& script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& arguments);
  // Several steps on one connection, for WATCH. They are repeated as a whole when a key moves: `steps` answers the
  // replies that may say so.
  //
  // A slot that is on its way has some keys here and some there. A single command is sent after its keys (ASK): if it
  // has several, the server says itself that they are apart. Several commands wait until the slot has arrived: at the
  // new place those keys that are still at the old one would be missing, and what is missing is taken for what never
  // was.
  enum class Kind : bool { several, single };
  using Steps = std::function<Result<std::vector<Reply>>(Connection&)>;
  Result<std::vector<Reply>> converse(std::string_view tag, const Steps& steps, Kind kind = Kind::several);

  // All masters.
  Result<std::vector<Address>> masters();
  Result<std::vector<Reply>> ask_node(const Address& node, const Commands& commands);
  // A connection that nobody else uses, to any node: for whoever listens.
  Result<std::unique_ptr<Connection>> connect_apart();

  bool is_cluster() const { return url_.cluster; }
  const Url& url() const { return url_; }
  std::size_t round_trips() const { return round_trips_; }

 private:
  class Lent;  // a connection in somebody's hands
  struct Where {
    Address node;
    bool asking = false;
  };
  Result<Where> find_node(std::string_view tag);
  Result<std::unique_ptr<Connection>> take(const Address& node);
  void give_back(std::unique_ptr<Connection> connection);
  // Who is who now: the nodes of a cluster, or the master that the sentinels name.
  Status look_around();
  Status read_slots();
  Status read_slots_from(const Address& node);
  Status find_master();
  // Whether the replies say that it has to be asked elsewhere; `where` says where then.
  enum class Turn : std::uint8_t { done, elsewhere, later };
  Turn look_at(const std::vector<Reply>& replies, std::string_view tag, Kind kind, Where& where);

  const Url url_;
  const ConnectionOptions options_;
  const std::size_t connections_max_;
  std::atomic<std::size_t> round_trips_{0};

  std::mutex mutex_;  // guards what is below
  std::condition_variable freed_;
  std::map<Address, std::vector<std::unique_ptr<Connection>>> idle_;
  std::map<Address, std::size_t> out_;
  std::vector<Address> nodes_;               // of a cluster: its masters; of sentinels: the master
  std::vector<std::uint32_t> node_of_slot_;  // of a cluster: an index, by slot
};

}  // namespace pawl::store::redis
