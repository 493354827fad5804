// Jobs and mailboxes with all their data.
#include <algorithm>

#include "base/format.h"
#include "core/codec.h"
#include "store/redis/transfer_writer.h"

namespace pawl::store::redis {

namespace {

const std::string no_guid = core::Guid{}.text();

std::string member_of(const transfer::MailboxEntry& one) {
  const std::string seq = wide(one.entry.seq);
  if (one.entry.offered_to) return "o" + one.entry.offered_to->text() + seq;
  return (std::holds_alternative<core::Register>(one.entry.what) ? "r" : "s") + seq;
}

}  // namespace

// scripts/due.lua defines the form of a member.
void TransferWriter::put_due(RunId run, Instant at, char kind, const std::string& guid, const std::string& activity) {
  if (at == Instant()) return;
  const core::LaneId lane = core::lane_of(run);
  to(lane).add(
      {"ZADD", keys_.of_lane(lane, "due"), format("{}", at.micros()), wide(run.raw()) + kind + guid + activity});
}

void TransferWriter::put_one(const transfer::Job& one) {
  const core::JobRow& row = one.row;
  const core::LaneId lane = core::lane_of(row.run);
  Submit submit{row.name_space, row.id, lane, row.graph, {}, row.created_at};
  submit.priority = row.priority;
  submit.keep = row.keep;
  submit.deadline = row.deadline;
  submit.secret = row.secret;
  core::JobHead head;
  head.completions = row.completions;
  head.next_activity = row.next_activity;
  head.closed_at = row.closed_at;
  head.remove_at = row.remove_at;
  head.redrives = row.redrives;
  head.code = row.code;
  std::vector<std::string> words = {"HSET", keys_.of_run(row.run, "run")};
  for (std::string& word : new_row(submit, row.parent)) words.push_back(std::move(word));
  // A later value overwrites an earlier one.
  words.insert(words.end(),
               {"status", std::string(core::name_of(row.status)), "rev", format("{}", row.rev.raw()), "bundle",
                format("{}", row.bundle.raw()), "semaphore", format("{}", row.semaphore), "head", head_words(head)});
  if (!row.result.empty()) words.insert(words.end(), {"result", std::string(row.result.view())});
  if (!row.data.empty()) words.insert(words.end(), {"data", std::string(row.data.view())});
  if (!row.reason.empty()) words.insert(words.end(), {"reason", row.reason});
  if (one.duplex) words.insert(words.end(), {"duplex", "1"});
  to(lane).add(words);
  to(lane).add(
      {"ZADD", keys_.of_lane(lane, "jobs"), "0", format("{}", static_cast<int>(row.status)) + wide(row.run.raw())});
  const bool over = core::is_closed(row.status) && row.completions > 0;
  put_due(row.run, over ? row.remove_at : Instant(), '2', no_guid, wide_activity(0));
}

void TransferWriter::put_one(const transfer::Activity& one) {
  const std::string field = format("a:{}", one.activity.seq.raw());
  std::vector<std::string> words = {"HSET",        keys_.of_run(one.run, "run"),
                                    field,         format("{}", one.activity.ledger.encode()),
                                    field + ":is", activity_words(one.activity)};
  if (!one.activity.output.empty())
    words.insert(words.end(), {field + ":out", std::string(one.activity.output.view())});
  if (!one.activity.state.empty())
    words.insert(words.end(), {field + ":state", std::string(one.activity.state.view())});
  to(one.run).add(words);
}

void TransferWriter::put_one(const transfer::MessageLedger& one) {
  const std::string field = record_field(one.record);
  std::vector<std::string> words = {"HSET", keys_.of_run(one.run, "run"), field,
                                    format("{}", one.record.ledger.encode())};
  if (!one.record.output.empty()) words.insert(words.end(), {field + ":out", std::string(one.record.output.view())});
  to(one.run).add(words);
}

// Ids that a server assigns are times: these come before all of them.
void TransferWriter::put_one(const transfer::InboxMessage& one) {
  const core::Message& message = one.message.message;
  const core::LaneId lane = core::lane_of(one.run);
  const std::string id = format("{}-0", one.order + 1);
  Commands& commands = to(lane);
  commands.add({"XADD", keys_.of_run(one.run, "inbox"), id, "guid", message.guid.text(), "kind", kind_of(message.body),
                "body", core::encode(message.body)});
  commands.add(
      {"HSET", keys_.of_run(one.run, "pending"), message.guid.text(), format("{} {}", id, one.message.redeliveries)});
  commands.add({"ZADD", keys_.of_lane(lane, "waiting"), "0",
                wide(one.run.raw()) + (one.entity == EntityKind::job ? ":job" : ":mailbox")});
}

void TransferWriter::put_one(const transfer::Timer& one) {
  const core::Guid& guid = one.message.message.guid;
  const std::string hash = keys_.of_run(one.run, "run");
  to(one.run).add({"HSET", hash, timer_field(guid), timer_row(one.message)});
  to(one.run).add({"HINCRBY", hash, "t", "1"});
  put_due(one.run, one.message.due, '0', guid.text(), "");  // a message has no activity
}

// scripts/work.lua defines the position of an item.
void TransferWriter::put_one(const transfer::Work& one) {
  const core::WorkItem& item = one.item;
  const core::LaneId lane = core::lane_of(item.run);
  const std::string place = place_of(item.run, item.activity);
  const std::string number = format("{:016}", one.place);
  const ItemWords words = item_words(item);
  numbers_[lane].place = std::max(numbers_[lane].place, one.place);
  std::vector<std::string> put = {"HSET", keys_.of_lane(lane, "items"), place, number + " " + words.rest};
  if (!item.input.empty()) put.insert(put.end(), {place + ":input", std::string(item.input.view())});
  if (!item.life.progress.empty()) put.insert(put.end(), {place + ":progress", std::string(item.life.progress.view())});
  Commands& commands = to(lane);
  commands.add(put);
  commands.add({"ZADD", keys_.of_lane(lane, "places"), "0", place});
  put_due(item.run, core::wake_of(item), '1', no_guid, wide_activity(item.activity.raw()));
  const std::string member = words.topic + " " + words.order + " " + number + " " + place;
  if (words.unlocks == "0")
    commands.add({"ZADD", keys_.of_lane(lane, "ready"), "0", member});
  else if (words.unlocks != "-")
    commands.add({"ZADD", keys_.of_lane(lane, "later"), words.unlocks, member});
}

void TransferWriter::put_one(const transfer::StartKey& one) {
  const core::LaneId lane = core::lane_of(one.run);
  const std::string name = name_of(core::JobKey{one.name_space, one.id});
  const std::string run = format("{}", one.run.raw());
  if (one.expires_at == Instant()) {
    to(lane).add({"HSET", keys_.of_lane(lane, "ids"), name, run});
    return;
  }
  const std::string until = format("{}", one.expires_at.micros());
  to(lane).add({"HSET", keys_.of_lane(lane, "ids"), name, run + " " + until});
  to(lane).add({"ZADD", keys_.of_lane(lane, "expiring"), until, wide(one.run.raw()) + name});
  put_due(one.run, one.expires_at, '3', no_guid, wide_activity(0));
}

void TransferWriter::put_one(const transfer::JobLabel& one) {
  const core::LaneId lane = core::lane_of(one.run);
  const std::string run = wide(one.run.raw());
  const std::string value =
      joined(one.name_space.raw()) + joined(one.graph.raw()) + joined(one.label.name) + joined(one.label.value);
  const std::string key = joined(one.label.key);
  to(lane).add(
      {"HSET", keys_.of_run(one.run, "run"), "l:" + joined(one.label.name) + joined(one.label.value) + key, ""});
  to(lane).add({"ZADD", keys_.of_lane(lane, "labels"), "0", "k" + value + key + run, "0", "v" + value + run + key});
}

void TransferWriter::put_one(const transfer::Mailbox& one) {
  const core::LaneId lane = core::lane_of(one.run);
  const std::string name = name_of(one.key);
  std::vector<std::string> words = {"HSET",  keys_.of_run(one.run, "run"), "name",   name,
                                    "rev",   format("{}", one.rev.raw()),  "bundle", format("{}", one.bundle.raw()),
                                    "next",  format("{}", one.next_entry), "ns",     one.key.name_space.raw(),
                                    "topic", one.key.topic.raw(),          "key",    one.key.key};
  if (one.signals > 0) words.insert(words.end(), {"signals", format("{}", one.signals)});
  if (one.signal_bytes > 0) words.insert(words.end(), {"bytes", format("{}", one.signal_bytes)});
  to(lane).add(words);
  to(lane).add({"HSET", keys_.of_lane(lane, "mailboxes"), name, format("{}", one.run.raw())});
}

void TransferWriter::put_one(const transfer::MailboxEntry& one) {
  const std::string hash = keys_.of_run(one.run, "run");
  const std::string seq = format("{}", one.entry.seq);
  Commands& commands = to(one.run);
  commands.add({"HSET", hash, "e:" + seq, entry_words(one.entry)});
  if (const auto* signal = std::get_if<core::Signal>(&one.entry.what)) {
    if (!signal->data.empty()) commands.add({"HSET", hash, "d:" + seq, signal->data.view()});
  } else {
    commands.add({"HSET", hash, "g:" + one.entry.guid.text(), seq});
  }
  commands.add({"ZADD", keys_.of_run(one.run, "entries"), "0", member_of(one)});
}

}  // namespace pawl::store::redis
