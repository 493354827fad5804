#include "store/redis/transfer_reader.h"

#include <tuple>

#include "base/format.h"
#include "core/codec.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t rows_per_page = 500;

}  // namespace

Status TransferReader::read() {
  if (auto done = read_catalogue(); !done) return done;
  for (const core::LaneId lane : lanes_) {
    for (const auto part : {&TransferReader::read_jobs, &TransferReader::read_expiring, &TransferReader::read_work,
                            &TransferReader::read_labels, &TransferReader::read_mailboxes,
                            &TransferReader::read_signal_ids, &TransferReader::read_outboxes})
      if (auto done = (this->*part)(lane); !done) return done;
    if (auto done = transfer::read_announcements(site_.store(), lane, see_); !done) return done;
  }
  if (auto done = read_measures(); !done) return done;
  for (const auto& [lane, topic] : streams_)
    if (auto done = read_stream(lane, topic); !done) return done;
  return {};
}

Status TransferReader::each_member(core::LaneId lane, const std::string& key, const std::string& from,
                                   const std::string& until,
                                   const std::function<Status(const std::vector<std::string>&)>& see) {
  std::string after = from;
  for (;;) {
    const auto page =
        site_.ask_one(lane, {"ZRANGE", key, after, until, "BYLEX", "LIMIT", "0", format("{}", rows_per_page)});
    if (!page) return page.error();
    if (page->list.empty()) return {};
    std::vector<std::string> members;
    for (const Reply& member : page->list) members.push_back(member.text);
    after = "(" + members.back();
    if (auto seen = see(members); !seen) return seen;
    if (page->list.size() < rows_per_page) return {};
  }
}

Status TransferReader::read_catalogue() {
  // A fenced store has a changed id (transfer.cc).
  const auto ids = site_.ask_catalogue({"HMGET", keys_.of_catalogue("store"), "moved_id", "id"});
  if (!ids) return ids.error();
  const auto id = core::Guid::parse((*ids)[0].is_nil() ? (*ids)[1].text : (*ids)[0].text);
  if (!id) return malformed("the id of the store");
  if (auto seen = see_(transfer::Identity{*id}); !seen) return seen;
  const auto pools = site_.read_pools();
  if (!pools) return pools.error();
  for (const auto& pool : *pools) {
    transfer::PoolLanes row{Pool(pool.pool), core::LaneId(pool.first), pool.lanes};
    if (auto seen = see_(std::move(row)); !seen) return seen;
    for (std::uint32_t i = 0; i < pool.lanes; ++i)
      if (auto done = read_lane(core::LaneId(pool.first + i), pool.pool); !done) return done;
  }
  // A topic that some lane has paused is shown as paused, and stays so.
  std::set<std::string> paused;
  for (const core::LaneId lane : lanes_) {
    const auto topics = site_.ask_one(lane, {"SMEMBERS", keys_.of_lane(lane, "paused")});
    if (!topics) return topics.error();
    for (const Reply& topic : topics->list) paused.insert(unescape(topic.text));
  }
  for (const std::string& topic : paused)
    if (auto seen = see_(transfer::PausedTopic{Topic(topic)}); !seen) return seen;
  return read_apps();
}

Status TransferReader::read_lane(core::LaneId lane, const std::string& pool) {
  lanes_.push_back(lane);
  Commands commands;
  commands.add({"HMGET", keys_.of_lane(lane, "lane"), "epoch", "announced"});
  commands.add({"GET", keys_.of_lane(lane, "runs")});
  const auto replies = site_.ask(lane, commands);
  if (!replies) return replies.error();
  const auto number = [](const Reply& reply) {
    return reply.is_nil() ? std::optional<std::uint64_t>(0) : number_in<std::uint64_t>(reply.text);
  };
  const auto epoch = number((*replies)[0][0]);
  const auto announced = number((*replies)[0][1]);
  const auto last = number((*replies)[1]);
  if (!epoch || !announced || !last) return malformed(format("lane {}", lane.raw()));
  const std::uint64_t none = core::make_run(lane, 0).raw();
  return see_(transfer::Lane{lane, Pool(pool), core::Epoch(*epoch), *last == 0 ? 1 : *last - none + 1, *announced + 1});
}

Status TransferReader::read_apps() {
  std::set<std::string> found;  // a scan may name a key twice
  const std::string beginning = keys_.apps(Namespace(""));
  auto done = site_.scan_keys(beginning, [&](const Address&, const std::string& key) -> Status {
    found.insert(key.substr(beginning.size()));
    return {};
  });
  for (const std::string& name : found) {
    const Namespace name_space(name);
    const std::string key = keys_.apps(name_space);
    const auto fields = site_.ask_catalogue({"HKEYS", key});
    if (!fields) return fields.error();
    for (const Reply& field : fields->list) {
      const std::string_view what = std::string_view(field.text).substr(0, 2);
      const std::string rest = field.text.substr(2);
      if (what != "b:" && what != "a:") continue;
      const auto values = site_.ask_catalogue({"HMGET", key, field.text, "t:" + rest});
      if (!values) return values.error();
      if (what == "a:") {
        if (done) done = see_(transfer::ActiveApp{name_space, rest, (*values)[0].text});
        continue;
      }
      const auto parts = parts_of(rest);
      const auto at = number_in<std::int64_t>((*values)[1].text);
      if (!parts || parts->size() != 2 || !at) return malformed("an app");
      if (done)
        done = see_(transfer::App{name_space, (*parts)[0], (*parts)[1], (*values)[0].text, Instant::from_micros(*at)});
    }
  }
  return done;
}

// Each lane has its own, and they are added up: all of them are in memory at once.
Status TransferReader::read_measures() {
  std::map<std::string, transfer::Measured> sums;
  for (const core::LaneId lane : lanes_) {
    const auto rows = site_.ask_one(lane, {"HGETALL", keys_.of_lane(lane, "measures")});
    if (!rows) return rows.error();
    for (std::size_t i = 0; i + 1 < rows->list.size(); i += 2) {
      const auto parts = parts_of((*rows)[i].text);
      if (!parts || parts->size() != 6) return malformed("a measure");
      WordReader words((*rows)[i + 1].text);
      transfer::Measured row{
          Namespace((*parts)[0]), GraphName((*parts)[1]),       (*parts)[2], (*parts)[3], (*parts)[4],
          std::nullopt,           words.number<std::uint64_t>()};
      if (!(*parts)[5].empty()) row.value = (*parts)[5].substr(1);
      row.sum = words.number<double>();
      row.least = words.number<double>();
      row.most = words.number<double>();
      if (words.malformed()) return malformed("a measure");
      const auto [sum, is_new] = sums.try_emplace((*rows)[i].text, row);
      if (!is_new) add_to(sum->second, row);
    }
  }
  for (auto& [name, sum] : sums)
    if (auto seen = see_(std::move(sum)); !seen) return seen;
  return {};
}

Status TransferReader::read_outboxes(core::LaneId lane) {
  Commands commands;
  commands.add({"HGETALL", keys_.of_lane(lane, "sent")});
  commands.add({"HGETALL", keys_.of_lane(lane, "taken")});
  const auto replies = site_.ask(lane, commands);
  if (!replies) return replies.error();
  for (int which = 0; which < 2; ++which) {
    const Reply& rows = (*replies)[static_cast<std::size_t>(which)];
    for (std::size_t i = 0; i + 1 < rows.list.size(); i += 2) {
      const auto other = number_in<std::uint32_t>(rows[i].text);
      const auto last = number_in<std::uint64_t>(rows[i + 1].text);
      if (!other || !last) return malformed(format("the outbox of lane {}", lane.raw()));
      auto done = which == 0 ? read_outbox(lane, core::LaneId(*other), *last)
                             : see_(transfer::OutboxTaken{lane, core::LaneId(*other), *last});
      if (!done) return done;
    }
  }
  return {};
}

Status TransferReader::read_outbox(core::LaneId lane, core::LaneId target, std::uint64_t last) {
  const std::string key = keys_.outbox(lane, target);
  std::string after = "-";
  transfer::OutboxRoute route{lane, target, last, last};
  for (bool is_first = true;; is_first = false) {
    const auto page = site_.ask_one(lane, {"XRANGE", key, after, "+", "COUNT", format("{}", rows_per_page)});
    if (!page) return page.error();
    for (const Reply& entry : page->list) {
      const std::string_view id = entry[0].text;
      const auto number = number_in<std::uint64_t>(id.substr(0, id.find('-')));
      const Fields fields = fields_of(entry[1]);
      const auto body = fields.find("envelope");
      if (!number || body == fields.end()) return malformed("a message on its way");
      auto envelope = core::decode_envelope(*body->second);
      if (!envelope) return envelope.error();
      if (is_first && &entry == &page->list.front()) route.dropped = *number - 1;
      after = "(" + entry[0].text;
      if (auto seen = see_(transfer::OutboxEntry{lane, target, *number, std::move(*envelope)}); !seen) return seen;
    }
    if (page->list.size() < rows_per_page) return see_(route);
  }
}

Status TransferReader::read_signal_ids(core::LaneId lane) {
  for (std::size_t first = 0;; first += rows_per_page) {
    const auto page = site_.ask_one(lane, {"ZRANGE", keys_.of_lane(lane, "signals"), format("{}", first),
                                           format("{}", first + rows_per_page - 1), "WITHSCORES"});
    if (!page) return page.error();
    for (std::size_t i = 0; i + 1 < page->list.size(); i += 2) {
      const auto guid = core::Guid::parse((*page)[i].text);
      const auto until = number_in<double>((*page)[i + 1].text);
      if (!guid || !until) return malformed("the id of a signal");
      if (auto seen = see_(transfer::SignalId{lane, *guid, Instant::from_micros(static_cast<std::int64_t>(*until))});
          !seen)
        return seen;
    }
    if (page->list.size() < 2 * rows_per_page) return {};
  }
}

}  // namespace pawl::store::redis
