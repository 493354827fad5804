// Pools, lanes, and the runs that have a name.
#include <set>

#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

Status check(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies)
    if (reply.is_error()) return Error{ErrorCode::retry_later, format("Redis refused a read: {}", reply.text)};
  return {};
}

// A read changes nothing: it does not matter whether it happened.
Error again(const Error& error) {
  return Error{error.code == ErrorCode::outcome_unknown ? ErrorCode::retry_later : error.code, error.detail};
}

}  // namespace

Result<Reader::Replies> Reader::ask(core::LaneId lane, const Commands& commands) {
  auto replies = servers_.ask(tag_of(lane), commands);
  if (!replies) return again(replies.error());
  if (const auto good = check(*replies); !good) return good.error();
  return replies;
}

Result<Reply> Reader::ask_one(core::LaneId lane, std::initializer_list<std::string_view> words) {
  Commands commands;
  commands.add(words);
  auto replies = ask(lane, commands);
  if (!replies) return replies.error();
  return std::move(replies->front());
}

Result<Reply> Reader::ask_catalogue(std::initializer_list<std::string_view> words) {
  Commands commands;
  commands.add(words);
  auto replies = servers_.ask(catalogue_tag, commands);
  if (!replies) return again(replies.error());
  if (const auto good = check(*replies); !good) return good.error();
  return std::move(replies->front());
}

Result<Reader::Replies> Reader::ask_all_lanes(const std::function<void(core::LaneId, Commands&)>& command) {
  const auto lanes = committer_.lanes();
  if (!lanes) return again(lanes.error());
  std::vector<Servers::Question> questions;
  for (std::uint32_t lane = 1; lane <= *lanes; ++lane) {
    Servers::Question question{tag_of(core::LaneId(lane)), {}};
    command(core::LaneId(lane), question.commands);
    questions.push_back(std::move(question));
  }
  Replies all;
  for (auto& answer : servers_.ask_each(questions)) {
    if (!answer) return again(answer.error());
    if (const auto good = check(*answer); !good) return good.error();
    all.push_back(std::move(answer->front()));
  }
  return all;
}

Result<Reply> Reader::run_script(core::LaneId lane, const Script& script, const Words& keys, const Words& arguments) {
  if (!committer_.has_scripts()) {  // then there are no rows of this kind
    Reply nothing;
    nothing.kind = Reply::Kind::list;
    return nothing;
  }
  auto reply = servers_.run(tag_of(lane), script, keys, arguments);
  if (!reply) return again(reply.error());
  if (reply->is_error()) return Error{ErrorCode::retry_later, format("Redis refused a read: {}", reply->text)};
  return reply;
}

Result<std::optional<PoolInfo>> Reader::read_pool(const Pool& pool) {
  const auto reply = ask_catalogue({"HGET", keys_.of_catalogue("pools"), pool.raw()});
  if (!reply) return reply.error();
  if (reply->is_nil()) return std::optional<PoolInfo>();
  WordReader reader(reply->text);
  PoolInfo info;
  info.first = core::LaneId(reader.number<std::uint32_t>());
  info.lanes = reader.number<std::uint32_t>();
  info.pool = pool;
  if (reader.malformed()) return malformed(format("pool {}", pool.raw()));
  return std::optional<PoolInfo>(info);
}

Result<LaneInfo> Reader::read_lane(core::LaneId lane) {
  const auto known = committer_.has_lane(lane);
  if (!known) return again(known.error());
  if (!*known) return Error{ErrorCode::not_found, format("there is no lane {}", lane.raw())};
  const auto reply = ask_one(lane, {"HMGET", keys_.of_lane(lane, "lane"), "owner", "epoch", "lease"});
  if (!reply) return reply.error();
  LaneInfo info;
  info.lane = lane;
  info.owner = (*reply)[0].text;
  info.epoch = core::Epoch(number_in<std::uint64_t>((*reply)[1].text).value_or(0));
  if (const auto until = number_in<std::int64_t>((*reply)[2].text)) info.lease_until = Instant::from_micros(*until);
  return info;
}

Result<std::vector<LaneEnd>> Reader::read_lane_ends() {
  const auto replies = ask_all_lanes([&](core::LaneId lane, Commands& commands) {
    commands.add({"GET", keys_.of_lane(lane, "runs")});
  });
  if (!replies) return replies.error();
  std::vector<LaneEnd> ends;
  for (std::size_t i = 0; i < replies->size(); ++i) {
    const core::LaneId lane(static_cast<std::uint32_t>(i) + 1);
    const std::uint64_t last = number_in<std::uint64_t>((*replies)[i].text).value_or(core::make_run(lane, 0).raw());
    ends.push_back({lane, RunId(last + 1)});
  }
  return ends;
}

// The runtime knows which lane has a name; here all lanes are asked, at once.
Result<std::optional<RunId>> Reader::find_run(const Namespace& name_space, const JobId& id) {
  const std::string name = name_of(core::JobKey{name_space, id});
  const auto replies = ask_all_lanes([&](core::LaneId lane, Commands& commands) {
    commands.add({"HGET", keys_.of_lane(lane, "ids"), name});
  });
  if (!replies) return replies.error();
  for (const Reply& reply : *replies) {
    if (reply.is_nil()) continue;
    WordReader reader(reply.text);
    const RunId run(reader.number<std::uint64_t>());
    if (reader.malformed()) return malformed(format("the name of job {}", id.raw()));
    if (const auto believed = believe(core::lane_of(run), true); !believed) return believed.error();
    return std::optional<RunId>(run);
  }
  if (const auto believed = committer_.watch().believe_that_nothing_is_there(); !believed) return believed.error();
  return std::optional<RunId>();
}

Result<std::optional<RunId>> Reader::find_mailbox(const core::MailboxKey& key) {
  const std::string name = name_of(key);
  const auto replies = ask_all_lanes([&](core::LaneId lane, Commands& commands) {
    commands.add({"HGET", keys_.of_lane(lane, "mailboxes"), name});
  });
  if (!replies) return replies.error();
  for (const Reply& reply : *replies)
    if (const auto run = number_in<std::uint64_t>(reply.text)) return std::optional<RunId>(RunId(*run));
  return std::optional<RunId>();
}

Result<std::vector<Topic>> Reader::read_paused_topics() {
  const auto replies = ask_all_lanes([&](core::LaneId lane, Commands& commands) {
    commands.add({"SMEMBERS", keys_.of_lane(lane, "paused")});
  });
  if (!replies) return replies.error();
  std::set<Topic> topics;
  for (const Reply& reply : *replies)
    for (const Reply& topic : reply.list) topics.emplace(unescape(topic.text));
  return std::vector<Topic>(topics.begin(), topics.end());
}

}  // namespace pawl::store::redis
