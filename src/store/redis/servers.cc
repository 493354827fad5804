#include "store/redis/servers.h"

#include <algorithm>
#include <thread>

#include "base/format.h"
#include "store/redis/limits.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

namespace {

Error later(std::string why) { return Error{ErrorCode::retry_later, std::move(why)}; }

// The node in "MOVED 3999 127.0.0.1:6381"; without a host it is the node that replied.
std::optional<Address> node_in(const std::string& redirection, const Address& said_by) {
  const auto words = words_of(redirection);
  if (words.size() < 3) return std::nullopt;
  const std::size_t colon = words[2].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = number_in<std::uint16_t>(words[2].substr(colon + 1));
  if (!port) return std::nullopt;
  Address node{std::string(words[2].substr(0, colon)), *port};
  if (node.host.empty()) node.host = said_by.host;
  return node;
}

// Nothing was done, and the same command may succeed soon.
bool is_passing(const Reply& reply) {
  for (const char* code : {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "BUSY "})
    if (reply.is_error(code)) return true;
  return false;
}

// This user may not call or load functions, or the server has none. A key that the user may not touch gives the same
// error, and the script gives it again.
bool is_no_function(const Reply& reply) { return reply.is_error("NOPERM") || reply.is_error("ERR unknown command"); }

// The former master may be a replica now.
Status check_master(Connection& connection) {
  const auto role = connection.ask_one({"ROLE"});
  if (!role) return later(role.error().detail);
  if (role->is_error()) return Error{ErrorCode::unsupported, format("{}: {}", connection.address().text(), role->text)};
  if ((*role)[0].text != "master") return later(format("{} is no master any more", connection.address().text()));
  return {};
}

}  // namespace

// Gives the connection back, unless it broke.
class Servers::Lent {
 public:
  Lent(Servers& servers, std::unique_ptr<Connection> connection)
      : servers_(servers), connection_(std::move(connection)) {}
  Lent(Lent&&) = delete;
  ~Lent() { servers_.give_back(std::move(connection_)); }
  Connection& operator*() const { return *connection_; }

 private:
  Servers& servers_;
  std::unique_ptr<Connection> connection_;
};

Servers::Servers(Url url, ConnectionOptions options, std::size_t connections_max)
    : url_(std::move(url)), options_(std::move(options)), connections_max_(connections_max) {}
Servers::~Servers() = default;

Status Servers::open() {
  if (!url_.is_one_server()) return look_around();
  auto connection = take(url_.nodes.front());
  if (!connection) return connection.error();
  give_back(std::move(*connection));
  return {};
}

Result<std::unique_ptr<Connection>> Servers::take(const Address& node) {
  std::unique_ptr<Connection> kept;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return out_[node] < connections_max_; });
    ++out_[node];
    auto& idle = idle_[node];
    if (!idle.empty()) {
      kept = std::move(idle.back());
      idle.pop_back();
    }
  }
  // If the server sent something or closed the connection meanwhile, it restarted: nothing was sent yet, so another
  // connection can be used.
  if (kept) {
    const auto received = kept->receive(std::chrono::milliseconds(0));
    if (received && !*received) return kept;
  }
  auto made = Connection::open(node, options_);
  if (made && url_.has_sentinels())
    if (const auto master = check_master(**made); !master) made = master.error();
  if (!made) {
    const std::lock_guard lock(mutex_);
    --out_[node];
    freed_.notify_all();
  }
  return made;
}

void Servers::give_back(std::unique_ptr<Connection> connection) {
  if (connection == nullptr) return;
  const std::lock_guard lock(mutex_);
  const Address node = connection->address();
  --out_[node];
  if (!connection->is_broken() && idle_[node].size() < limits::connections_idle_max)
    idle_[node].push_back(std::move(connection));
  freed_.notify_all();
}

Status Servers::look_around() { return url_.has_sentinels() ? find_master() : read_slots(); }

Status Servers::read_slots() {
  std::vector<Address> known;
  {
    const std::lock_guard lock(mutex_);
    known = nodes_;
  }
  known.insert(known.end(), url_.nodes.begin(), url_.nodes.end());
  Status read = later("the cluster has no nodes");
  for (const Address& node : known) {
    read = read_slots_from(node);
    if (read) return read;
  }
  return read;
}

Status Servers::read_slots_from(const Address& node) {
  Commands commands;
  commands.add({"CLUSTER", "SLOTS"});
  const auto replies = ask_node(node, commands);
  if (!replies) return replies.error();
  const Reply& ranges = replies->front();
  if (!ranges.is_list()) return later(format("{} is no cluster: {}", node.text(), ranges.text));
  std::vector<Address> nodes;
  std::vector<std::uint32_t> node_of_slot(slots, 0);
  for (const Reply& range : ranges.list) {
    const Reply& master = range[2];
    Address address{master[0].text, static_cast<std::uint16_t>(master[1].integer)};
    if (address.host.empty()) address.host = node.host;
    const auto found = std::find(nodes.begin(), nodes.end(), address);
    const auto index = static_cast<std::uint32_t>(found - nodes.begin());
    if (found == nodes.end()) nodes.push_back(std::move(address));
    for (std::int64_t slot = range[0].integer; slot <= range[1].integer && slot < slots; ++slot)
      node_of_slot[static_cast<std::size_t>(slot)] = index;
  }
  if (nodes.empty()) return later(format("{} knows no node that has slots", node.text()));
  const std::lock_guard lock(mutex_);
  nodes_ = std::move(nodes);
  node_of_slot_ = std::move(node_of_slot);
  return {};
}

Status Servers::find_master() {
  ConnectionOptions options = options_;
  options.user.clear();
  options.password.clear();
  options.database = 0;
  options.connect_timeout = std::min(options.connect_timeout, limits::sentinel_timeout);
  options.reply_timeout = std::min(options.reply_timeout, limits::sentinel_timeout);
  std::string problem;
  for (const Address& sentinel : url_.nodes) {
    const auto connection = Connection::open(sentinel, options);
    if (!connection) {
      problem += format("; {}", connection.error().detail);
      continue;
    }
    const auto reply = (*connection)->ask_one({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url_.master});
    const auto port = reply && reply->list.size() == 2 ? number_in<std::uint16_t>((*reply)[1].text) : std::nullopt;
    if (!port) {
      problem += format("; {} {}", sentinel.text(),
                        !reply              ? reply.error().detail
                        : reply->is_error() ? reply->text
                                            : "knows no such master");
      continue;
    }
    const std::lock_guard lock(mutex_);
    nodes_ = {Address{(*reply)[0].text, *port}};
    return {};
  }
  return later(format("{}: no sentinel says who it is{}", url_.shown(), problem));
}

Result<Servers::Where> Servers::find_node(std::string_view tag) {
  if (url_.is_one_server()) return Where{url_.nodes.front()};
  const std::lock_guard lock(mutex_);
  if (nodes_.empty()) return later(format("{}: not reached yet", url_.shown()));
  return Where{url_.cluster ? nodes_[node_of_slot_[slot_of(tag)]] : nodes_.front()};
}

Servers::Turn Servers::look_at(const std::vector<Reply>& replies, std::string_view tag, Kind kind, Where& where) {
  for (const Reply& reply : replies) {
    if (!reply.is_error()) continue;
    const bool moved = reply.is_error("MOVED ");
    if (moved || reply.is_error("ASK ")) {
      const auto node = node_in(reply.text, where.node);
      if (!node || (!moved && kind == Kind::several)) return Turn::later;
      where = Where{*node, !moved};
      if (!moved) return Turn::elsewhere;
      if (!url_.cluster) return Turn::later;
      const std::lock_guard lock(mutex_);
      const auto found = std::find(nodes_.begin(), nodes_.end(), *node);
      const auto index = static_cast<std::uint32_t>(found - nodes_.begin());
      if (found == nodes_.end()) nodes_.push_back(*node);
      node_of_slot_[slot_of(tag)] = index;
      return Turn::elsewhere;
    }
    if (is_passing(reply)) return Turn::later;
  }
  return Turn::done;
}

Result<std::vector<Reply>> Servers::converse(std::string_view tag, const Steps& steps, Kind kind) {
  std::string problem = "its slot moves";
  auto where = find_node(tag);
  for (int i = 0; i < limits::redirects_max; ++i) {
    if (!where) return where.error();
    auto taken = take(where->node);
    if (!taken) {
      // A node that is gone may have a successor by now.
      problem = taken.error().detail;
      if (url_.is_one_server() || i > 5) return taken.error();
      std::this_thread::sleep_for(limits::redirect_pause);
      if (const auto looked = look_around(); !looked) return looked.error();
      where = find_node(tag);
      continue;
    }
    auto replies = [&]() -> Result<std::vector<Reply>> {
      const Lent connection(*this, std::move(*taken));
      if (where->asking)
        if (const auto asked = (*connection).ask_one({"ASKING"}); !asked) return later(asked.error().detail);
      ++round_trips_;
      return steps(*connection);
    }();
    if (!replies) return replies;
    const Turn turn = look_at(*replies, tag, kind, *where);
    if (turn == Turn::done) return replies;
    if (turn == Turn::elsewhere) continue;
    for (const Reply& reply : *replies)
      if (is_passing(reply)) problem = reply.text;
    if (url_.is_one_server()) break;  // its reply has the reason
    std::this_thread::sleep_for(limits::redirect_pause);
    if (const auto looked = look_around(); !looked) return looked.error();
    where = find_node(tag);
  }
  return later(format("{}: {}", url_.shown(), problem));
}

Result<std::vector<Reply>> Servers::ask(std::string_view tag, const Commands& commands) {
  return converse(
      tag, [&](Connection& connection) { return connection.ask(commands); },
      commands.count() == 1 ? Kind::single : Kind::several);
}

std::vector<Result<std::vector<Reply>>> Servers::ask_each(const std::vector<Question>& questions) {
  std::vector<Result<std::vector<Reply>>> answers(questions.size(), later("it was not asked"));
  std::map<Address, std::vector<std::size_t>> by_node;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto where = find_node(questions[i].tag);
    if (where)
      by_node[where->node].push_back(i);
    else
      answers[i] = where.error();
  }
  for (const auto& [node, indices] : by_node) {
    Commands together;
    for (const std::size_t i : indices) together.append(questions[i].commands);
    ++round_trips_;
    auto replies = ask_node(node, together);
    auto next = replies ? replies->begin() : std::vector<Reply>::iterator();
    for (const std::size_t i : indices) {
      const auto count = static_cast<std::ptrdiff_t>(questions[i].commands.count());
      const bool here = replies && std::none_of(next, next + count, [](const Reply& reply) {
                          return reply.is_error("MOVED ") || reply.is_error("ASK ") || is_passing(reply);
                        });
      if (here)
        answers[i] = std::vector<Reply>(std::make_move_iterator(next), std::make_move_iterator(next + count));
      else
        answers[i] = ask(questions[i].tag, questions[i].commands);
      if (replies) next += count;
    }
  }
  return answers;
}

// A node that does not have the function is given it, and called again.
Result<std::vector<Reply>> Servers::call_function(std::string_view tag, const Script& script, const Commands& call) {
  const auto steps = [&](Connection& connection) -> Result<std::vector<Reply>> {
    auto replies = connection.ask(call);
    if (!replies || !replies->front().is_error("ERR Function not found")) return replies;
    const auto loaded = connection.ask_one({"FUNCTION", "LOAD", script.library()});
    if (!loaded) return loaded.error();
    // Another client may have been first: then there is one of this name.
    if (loaded->is_error() && loaded->text.find("already exists") == std::string::npos) return std::vector{*loaded};
    Commands again;
    if (url_.cluster) again.add({"ASKING"});  // it lasts for one command, and the first call had it
    again.append(call);
    replies = connection.ask(again);
    if (replies && url_.cluster) replies->erase(replies->begin());
    return replies;
  };
  return converse(tag, steps, Kind::single);
}

Result<Reply> Servers::run(std::string_view tag, const Script& script, const std::vector<std::string>& keys,
                           std::span<const std::string_view> arguments) {
  std::vector<std::string_view> words;
  words.reserve(keys.size() + arguments.size() + 3);
  const std::string count = format("{}", keys.size());
  words.insert(words.end(), {script.reads() ? "EVALSHA_RO" : "EVALSHA", script.digest(), count});
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  Commands commands;
  if (!script.function().empty() && has_functions_) {
    const std::string_view by_script[] = {words[0], words[1]};
    words[0] = "FCALL";
    words[1] = script.function();
    commands.add(std::span<const std::string_view>(words));
    auto replies = call_function(tag, script, commands);
    if (!replies) return replies.error();
    if (!is_no_function(replies->front())) return std::move(replies->front());
    has_functions_ = false;  // nothing was done
    words[0] = by_script[0];
    words[1] = by_script[1];
    commands.clear();
  }
  commands.add(std::span<const std::string_view>(words));
  auto replies = ask(tag, commands);
  if (replies && replies->front().is_error("NOSCRIPT")) {  // nothing was done
    words[0] = script.reads() ? "EVAL_RO" : "EVAL";
    words[1] = script.source();
    commands.clear();
    commands.add(std::span<const std::string_view>(words));
    replies = ask(tag, commands);
  }
  if (!replies) return replies.error();
  return std::move(replies->front());
}

Result<std::vector<Address>> Servers::masters() {
  if (url_.is_one_server()) return url_.nodes;
  if (const auto looked = look_around(); !looked) return looked.error();
  const std::lock_guard lock(mutex_);
  return nodes_;
}

Result<std::vector<Reply>> Servers::ask_node(const Address& node, const Commands& commands) {
  auto taken = take(node);
  if (!taken) return taken.error();
  const Lent connection(*this, std::move(*taken));
  return (*connection).ask(commands);
}

Result<std::unique_ptr<Connection>> Servers::connect_apart() {
  auto nodes = masters();
  if (!nodes) return nodes.error();
  Result<std::unique_ptr<Connection>> made = later("there is no node");
  for (const Address& node : *nodes) {
    auto tried = Connection::open(node, options_);
    if (tried) return tried;
    if (&node == &nodes->back()) return tried.error();
  }
  return made;
}

}  // namespace pawl::store::redis
