#include "store/redis/transfer_site.h"

#include "base/format.h"

namespace pawl::store::redis {

namespace {

constexpr std::string_view mark_field = "move";
constexpr std::string_view keys_per_scan = "1000";

}  // namespace

Result<std::optional<transfer::Mark>> read_mark(Servers& servers, const Keys& keys) {
  Commands commands;
  commands.add({"HGET", keys.of_catalogue("store"), mark_field});
  const auto replies = servers.ask(catalogue_tag, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  const Reply& reply = replies->front();
  if (reply.is_error()) return Error{ErrorCode::unsupported, format("the store cannot be read: {}", reply.text)};
  if (reply.is_nil()) return std::optional<transfer::Mark>();
  const std::size_t space = reply.text.find(' ');
  const auto state = transfer::state_named(std::string_view(reply.text).substr(0, space));
  if (!state || space == std::string::npos) return malformed("what the store says of moves");
  return std::optional(transfer::Mark{*state, reply.text.substr(space + 1)});
}

Status check_mark(Servers& servers, const Keys& keys) {
  const auto mark = read_mark(servers, keys);
  if (!mark) return mark.error();
  if (!*mark) return {};
  return transfer::refusal_of(**mark, servers.url().shown());
}

TransferSite::TransferSite(std::string url, Url parsed, ConnectionOptions connection, Options options)
    : url_(std::move(url)),
      options_(std::move(options)),
      keys_(options_.prefix),
      servers_(std::move(parsed), std::move(connection), 2) {}

Result<std::unique_ptr<TransferSite>> TransferSite::open(const std::string& url, Options options) {
  auto parsed = Url::parse(url);
  if (!parsed) return parsed.error();
  ConnectionOptions connection;
  connection.tls = parsed->tls;
  connection.tls_options = options.tls;
  connection.user = parsed->user;
  connection.password = parsed->password;
  connection.database = parsed->database;
  connection.connect_timeout = options.connect_timeout;
  connection.reply_timeout = options.reply_timeout;
  options.despite_moves = true;
  std::unique_ptr<TransferSite> site(
      new TransferSite(url, std::move(*parsed), std::move(connection), std::move(options)));
  if (const auto opened = site->servers_.open(); !opened) return opened.error();
  return site;
}

Status TransferSite::reopen() {
  auto opened = Store::open(url_, options_);
  if (!opened) return opened.error();
  store_ = std::move(*opened);
  return {};
}

Result<std::vector<Reply>> TransferSite::ask(std::string_view tag, const Commands& commands) {
  if (commands.count() == 0) return std::vector<Reply>();
  auto replies = servers_.ask(tag, commands);
  if (!replies) return replies.error();
  for (const Reply& reply : *replies)
    if (reply.is_error() && !reply.is_error("BUSYGROUP"))
      return Error{ErrorCode::retry_later, format("Redis refused: {}", reply.text)};
  return replies;
}

Result<Reply> TransferSite::ask_one(std::string_view tag, std::initializer_list<std::string_view> words) {
  Commands commands;
  commands.add(words);
  auto replies = ask(tag, commands);
  if (!replies) return replies.error();
  return std::move(replies->front());
}

Status TransferSite::scan_keys(const std::string& beginning,
                               const std::function<Status(const Address&, const std::string&)>& see) {
  const auto masters = servers_.masters();
  if (!masters) return masters.error();
  for (const Address& node : *masters) {
    std::string cursor = "0";
    do {
      Commands commands;
      commands.add({"SCAN", cursor, "MATCH", beginning + "*", "COUNT", keys_per_scan});
      const auto replies = servers_.ask_node(node, commands);
      if (!replies) return replies.error();
      const Reply& page = replies->front();
      if (page.is_error()) return Error{ErrorCode::retry_later, format("Redis refused: {}", page.text)};
      cursor = page[0].text;
      for (const Reply& key : page[1].list)
        if (auto seen = see(node, key.text); !seen) return seen;
    } while (cursor != "0");
  }
  return {};
}

Result<std::vector<TransferSite::PoolRow>> TransferSite::read_pools() {
  const auto reply = ask_catalogue({"HGETALL", keys_.of_catalogue("pools")});
  if (!reply) return reply.error();
  std::vector<PoolRow> pools;
  for (std::size_t i = 0; i + 1 < reply->list.size(); i += 2) {
    WordReader words((*reply)[i + 1].text);
    PoolRow row{(*reply)[i].text, words.number<std::uint32_t>(), 0};
    row.lanes = words.number<std::uint32_t>();
    if (words.malformed()) return malformed(format("pool {}", row.pool));
    pools.push_back(std::move(row));
  }
  return pools;
}

Result<std::vector<core::LaneId>> TransferSite::read_lanes() {
  const auto pools = read_pools();
  if (!pools) return pools.error();
  std::vector<core::LaneId> lanes;
  for (const PoolRow& pool : *pools)
    for (std::uint32_t i = 0; i < pool.lanes; ++i) lanes.emplace_back(pool.first + i);
  return lanes;
}

Result<std::uint64_t> TransferSite::count_jobs() {
  const auto lanes = read_lanes();
  if (!lanes) return lanes.error();
  std::uint64_t jobs = 0;
  for (const core::LaneId lane : *lanes) {
    const auto count = ask_one(lane, {"ZCARD", keys_.of_lane(lane, "jobs")});
    if (!count) return count.error();
    jobs += static_cast<std::uint64_t>(count->integer);
  }
  return jobs;
}

Status TransferSite::write_mark(const transfer::Mark& mark) {
  const auto written = ask_catalogue(
      {"HSET", keys_.of_catalogue("store"), mark_field, format("{} {}", transfer::name_of(mark.state), mark.other)});
  return written ? Status{} : Status{written.error()};
}

}  // namespace pawl::store::redis
