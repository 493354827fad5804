// One job, read whole at one instant.
#include <algorithm>
#include <tuple>

#include "core/codec.h"
#include "store/redis/read_messages.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

constexpr std::string_view row_fields[] = {"ns",       "id",     "graph",  "version",   "at",       "status",
                                           "rev",      "bundle", "head",   "semaphore", "priority", "keep",
                                           "deadline", "secret", "parent", "reason"};

// The requested fields and their values.
Fields fields_named(std::span<const std::string_view> names, const Reply& reply) {
  Fields fields;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!reply[i].is_nil()) fields.emplace(std::string(names[i]), &reply[i].text);
  return fields;
}

// The item in the owner's hand, of a job's hash; it must be there.
Result<core::WorkItem> read_hand(RunId run, const Fields& fields) {
  const auto words = fields.find(hand_field);
  const auto input = fields.find(hand_input_field);
  return read_item_in_hand(run, words == fields.end() ? std::string_view() : std::string_view(*words->second),
                           input == fields.end() ? std::string() : *input->second);
}

}  // namespace

// Waiting messages: those of the stream in their order, and the timers by their time.
Status read_messages(const Reply& stream, const Reply& pending_rows, const Fields& hash,
                     std::vector<core::InboxMessage>& inbox, std::vector<core::InboxMessage>& timers) {
  const Fields rows = fields_of(pending_rows);
  for (const Reply& entry : stream.list) {
    auto message = read_entry(entry);
    if (!message) return message.error();
    const auto known = rows.find(message->message.guid.text());
    if (known == rows.end()) return malformed(format("message {}", message->message.guid.text()));
    const auto pending = read_pending(*known->second);
    if (!pending) return pending.error();
    message->redeliveries = pending->redeliveries;
    inbox.push_back(std::move(*message));
  }
  constexpr std::string_view timer_prefix = "t:";
  for (auto field = hash.lower_bound(timer_prefix); field != hash.end() && field->first.starts_with(timer_prefix);
       ++field) {
    const auto guid = core::Guid::parse(std::string_view(field->first).substr(timer_prefix.size()));
    if (!guid) return malformed("the name of a timer");
    auto timer = read_timer(*guid, *field->second);
    if (!timer) return timer.error();
    timers.push_back(std::move(*timer));
  }
  std::sort(timers.begin(), timers.end(), [](const core::InboxMessage& a, const core::InboxMessage& b) {
    return std::tie(a.due, a.message.guid) < std::tie(b.due, b.message.guid);
  });
  return {};
}

Words Reader::whole_keys(RunId run) const {
  const core::LaneId lane = core::lane_of(run);
  return {keys_.of_run(run, "run"), keys_.of_run(run, "inbox"), keys_.of_run(run, "pending"),
          keys_.of_lane(lane, "items"), keys_.of_lane(lane, "places")};
}
Words Reader::whole_arguments(RunId run) {
  const std::string first = wide(run.raw());
  return {"[" + first + ".", "(" + first + "/"};
}
Result<Reply> Reader::read_whole(RunId run) {
  return run_script(core::lane_of(run), whole_script(), whole_keys(run), whole_arguments(run));
}

Servers::Question Reader::job_question(RunId run) const {
  Servers::Question question{tag_of(core::lane_of(run)), {}};
  const Words keys = whole_keys(run);
  std::vector<std::string> words = {"EVALSHA_RO", whole_script().digest(), format("{}", keys.size())};
  words.insert(words.end(), keys.begin(), keys.end());
  for (std::string& word : whole_arguments(run)) words.push_back(std::move(word));
  question.commands.add(words);
  return question;
}

Result<std::optional<StoredJob>> Reader::job_answer(RunId run, const Reply& parts) {
  if (!parts.is_list()) return Error{ErrorCode::retry_later, format("Redis refused a read: {}", parts.text)};
  const Fields fields = fields_of(parts[0]);
  if (const auto believed = believe(core::lane_of(run), fields.contains("status")); !believed) return believed.error();
  if (!fields.contains("status")) return std::optional<StoredJob>();
  auto state = read_state(run, fields);
  if (!state) return state.error();
  StoredJob stored;
  stored.state = std::move(*state);
  const auto wrong = [&](const Error& error) {
    return Error{error.code, format("job {}/{} (run {}): {}", stored.state.job.name_space.raw(),
                                    stored.state.job.id.raw(), run.raw(), error.detail)};
  };
  if (const auto read = read_messages(parts[1], parts[2], fields, stored.inbox, stored.timers); !read)
    return wrong(read.error());
  for (const Reply& row : parts[3].list) {
    auto item = is_in_hand(row[0].text) ? read_hand(run, fields) : read_item(row);
    if (!item) return wrong(item.error());
    stored.state.put(std::move(*item));
  }
  return std::optional<StoredJob>(std::move(stored));
}

Result<std::optional<StoredJob>> Reader::read_job(RunId run) {
  const auto parts = read_whole(run);
  if (!parts) return parts.error();
  return job_answer(run, *parts);
}

Result<std::optional<core::JobRow>> Reader::read_job_row(RunId run) {
  const core::LaneId lane = core::lane_of(run);
  auto rows = read_rows(lane, {run});
  if (!rows) return rows.error();
  std::optional<core::JobRow>& row = rows->front();
  if (const auto believed = believe(lane, row.has_value()); !believed) return believed.error();
  if (!row || row->status == core::JobStatus::running) return std::move(row);
  std::vector<core::JobRow> whole = {std::move(*row)};
  if (const auto read = read_payloads(lane, whole); !read) return read.error();
  return std::optional<core::JobRow>(std::move(whole.front()));
}

// Without result and data. None: there is no such job.
Result<std::vector<std::optional<core::JobRow>>> Reader::read_rows(core::LaneId lane, const std::vector<RunId>& runs) {
  std::vector<std::optional<core::JobRow>> rows;
  if (runs.empty()) return rows;
  Commands commands;
  for (const RunId run : runs) {
    std::vector<std::string> words = {"HMGET", keys_.of_run(run, "run")};
    words.insert(words.end(), std::begin(row_fields), std::end(row_fields));
    commands.add(words);
  }
  const auto replies = ask(lane, commands);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Fields fields = fields_named(row_fields, (*replies)[i]);
    if (!fields.contains("status")) {
      rows.emplace_back();
      continue;
    }
    auto row = read_row(runs[i], fields);
    if (!row) return row.error();
    rows.emplace_back(std::move(*row));
  }
  return rows;
}

Status Reader::read_payloads(core::LaneId lane, std::vector<core::JobRow>& rows) {
  if (rows.empty()) return {};
  Commands commands;
  for (const core::JobRow& row : rows) commands.add({"HMGET", keys_.of_run(row.run, "run"), "result", "data"});
  auto payloads = ask(lane, commands);
  if (!payloads) return payloads.error();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].result = Payload((*payloads)[i][0].text);
    rows[i].data = Payload((*payloads)[i][1].text);
  }
  return {};
}

Result<std::optional<core::InboxMessage>> Reader::read_message(RunId run, const core::Guid& guid) {
  const core::LaneId lane = core::lane_of(run);
  const std::string name = guid.text();
  // A message may be removed between two reads: then it is left out.
  Commands commands;
  commands.add({"HGET", keys_.of_run(run, "pending"), name});
  commands.add({"HGET", keys_.of_run(run, "run"), timer_field(guid)});
  const auto known = ask(lane, commands);
  if (!known) return known.error();
  if (const Reply& timer = (*known)[1]; !timer.is_nil()) {
    auto message = read_timer(guid, timer.text);
    if (!message) return message.error();
    return std::optional<core::InboxMessage>(std::move(*message));
  }
  if ((*known)[0].is_nil()) return std::optional<core::InboxMessage>();
  const auto pending = read_pending((*known)[0].text);
  if (!pending) return pending.error();
  const auto found = ask_one(lane, {"XRANGE", keys_.of_run(run, "inbox"), pending->stream_id, pending->stream_id});
  if (!found) return found.error();
  if (found->list.empty()) return std::optional<core::InboxMessage>();
  auto message = read_entry((*found)[0]);
  if (!message) return message.error();
  message->redeliveries = pending->redeliveries;
  return std::optional<core::InboxMessage>(std::move(*message));
}

}  // namespace pawl::store::redis
