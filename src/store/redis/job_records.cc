// Jobs as fields of a hash.
#include <algorithm>

#include "base/format.h"
#include "ledger/semaphore.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

Error corrupt(std::string detail) { return Error{ErrorCode::corrupt, std::move(detail)}; }

std::optional<core::JobStatus> status_named(std::string_view name) {
  for (int status = 0; status <= static_cast<int>(core::JobStatus::paused); ++status)
    if (core::name_of(static_cast<core::JobStatus>(status)) == name) return static_cast<core::JobStatus>(status);
  return std::nullopt;
}

const std::string* find(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : found->second;
}

template <class Number>
bool take(const Fields& fields, std::string_view name, Number& into) {
  const std::string* text = find(fields, name);
  if (text == nullptr) return true;  // absent means the default
  const auto number = number_in<Number>(*text);
  if (number) into = *number;
  return number.has_value();
}

Payload payload(const Fields& fields, std::string_view name) {
  const std::string* text = find(fields, name);
  return text == nullptr ? Payload() : Payload(*text);
}

// A secret is not for people: its bytes are stored, not their digits.
constexpr int byte_bits = 8;
std::string secret_bytes(const core::Guid& guid) {
  std::string bytes;
  for (const std::uint64_t half : {guid.high, guid.low})
    for (std::size_t i = sizeof half; i-- > 0;) bytes += static_cast<char>((half >> (byte_bits * i)) & 0xff);
  return bytes;
}
core::Guid secret_in(std::string_view bytes) {
  const auto half = [](std::string_view part) {
    std::uint64_t number = 0;
    for (const char byte : part) number = number << byte_bits | static_cast<unsigned char>(byte);
    return number;
  };
  return core::Guid{half(bytes.substr(0, sizeof(std::uint64_t))), half(bytes.substr(sizeof(std::uint64_t)))};
}

std::optional<core::ParentLink> parent_in(std::string_view words, bool& wrong) {
  WordReader reader(words);
  core::ParentLink parent;
  parent.run = RunId(reader.number<std::uint64_t>());
  parent.activity = core::ActivitySeq(reader.number<std::uint32_t>());
  parent.request = reader.guid();
  parent.awaits = reader.flag();
  wrong = reader.malformed();
  return parent;
}

// All fields of a row except those of its head.
bool take_rest(const Fields& fields, core::JobRow& row) {
  std::int64_t at = 0, deadline = 0, keep = 0;
  std::uint64_t rev = 0, bundle = 0;
  bool good = take(fields, "at", at) && take(fields, "deadline", deadline) && take(fields, "rev", rev) &&
              take(fields, "bundle", bundle) && take(fields, "semaphore", row.semaphore) &&
              take(fields, "priority", row.priority) && take(fields, "keep", keep);
  row.created_at = Instant::from_micros(at);
  row.deadline = Instant::from_micros(deadline);
  row.rev = core::Rev(rev);
  row.bundle = core::BundleId(bundle);
  if (find(fields, "keep") != nullptr) row.keep = Duration(keep);
  if (const std::string* secret = find(fields, "secret")) {
    good = good && secret->size() == sizeof(core::Guid);
    if (good) row.secret = core::JobSecret(secret_in(*secret));
  }
  if (const std::string* parent = find(fields, "parent")) {
    bool wrong = false;
    row.parent = parent_in(*parent, wrong);
    good = good && !wrong;
  }
  return good;
}

}  // namespace

Words new_row(const Submit& submit, const std::optional<core::ParentLink>& parent) {
  Words row = {"ns",        submit.name_space.raw(),
               "id",        submit.id.raw(),
               "graph",     submit.graph.name.raw(),
               "version",   format("{} {}", submit.graph.version, submit.graph.fingerprint),
               "at",        format("{}", submit.at.micros()),
               "status",    std::string(core::name_of(core::JobStatus::running)),
               "rev",       "0",
               "bundle",    "0",
               "semaphore", "1",
               "head",      "0 0"};
  const auto put = [&](const char* name, std::string value) {
    row.emplace_back(name);
    row.push_back(std::move(value));
  };
  if (submit.priority != 0) put("priority", format("{}", submit.priority));
  if (submit.keep) put("keep", format("{}", submit.keep->count()));
  if (submit.deadline != Instant()) put("deadline", format("{}", submit.deadline.micros()));
  if (core::is_set(submit.secret)) put("secret", secret_bytes(submit.secret.raw()));
  if (parent)
    put("parent", format("{} {} {} {}", parent->run.raw(), parent->activity.raw(), parent->request.text(),
                         parent->awaits ? 1 : 0));
  return row;
}

// Trailing zeros are left out.
std::string head_words(const core::JobHead& head) {
  const bool short_one =
      head.closed_at == Instant() && head.remove_at == Instant() && head.redrives == 0 && head.code == 0;
  if (short_one) return decimal(head.completions) + " " + decimal(head.next_activity);
  return format("{} {} {} {} {} {}", head.completions, head.next_activity, head.closed_at.micros(),
                head.remove_at.micros(), head.redrives, head.code);
}

Result<core::JobRow> read_row(RunId run, const Fields& fields) {
  core::JobRow row;
  row.run = run;
  const auto wrong = [&] { return corrupt(format("the row of run {} is malformed", run.raw())); };
  for (const std::string_view name : {"ns", "id", "graph", "version", "head", "status"})
    if (find(fields, name) == nullptr) return wrong();
  row.name_space = Namespace(*find(fields, "ns"));
  row.id = JobId(*find(fields, "id"));
  WordReader version(*find(fields, "version"));
  row.graph.name = GraphName(*find(fields, "graph"));
  row.graph.version = version.number<std::uint32_t>();
  row.graph.fingerprint = version.number<std::uint64_t>();
  WordReader head(*find(fields, "head"));
  row.completions = head.number<std::uint32_t>();
  row.next_activity = head.number<std::uint32_t>();
  if (!head.at_end()) {
    row.closed_at = head.instant();
    row.remove_at = head.instant();
    row.redrives = head.number<std::uint32_t>();
    row.code = head.number<std::int32_t>();
  }
  const auto status = status_named(*find(fields, "status"));
  if (!take_rest(fields, row) || version.malformed() || head.malformed() || !status) return wrong();
  row.status = *status;
  row.result = payload(fields, "result");
  row.data = payload(fields, "data");
  if (const std::string* reason = find(fields, "reason")) row.reason = *reason;
  const auto semaphore = ledger::Semaphore::decode(row.semaphore);
  if (!semaphore) return corrupt(format("run {}: {}", run.raw(), semaphore.error().detail));
  return row;
}

std::string activity_words(const core::Activity& activity) {
  std::string words = decimal(activity.node);
  const auto put = [&](std::string_view word) {
    words += ' ';
    words += word;
  };
  put(activity.at.text());
  put(activity.parent ? decimal(activity.parent->raw()) : "-");
  put(core::name_of(activity.status));
  put(decimal(activity.code));
  put(decimal(activity.opened_at.micros()));
  if (activity.closed_at == Instant()) return words;
  const std::int64_t took = activity.closed_at.micros() - activity.opened_at.micros();
  put(took < 0 ? "" : "+");
  return words + decimal(took);
}

std::string record_field(const core::MessageRecord& record) {
  return "m:" + decimal(record.activity.raw()) + ":" + record.guid.text();
}

namespace {

std::optional<core::ActivityStatus> activity_status_named(std::string_view name) {
  for (int status = 0; status <= static_cast<int>(core::ActivityStatus::skipped); ++status)
    if (core::name_of(static_cast<core::ActivityStatus>(status)) == name)
      return static_cast<core::ActivityStatus>(status);
  return std::nullopt;
}

Result<core::Activity> read_activity(std::uint32_t seq, const Fields& fields) {
  const std::string field = format("a:{}", seq);
  const std::string* digits = find(fields, field);
  const std::string* words = find(fields, field + ":is");
  if (digits == nullptr || words == nullptr) return corrupt(format("activity {} is missing", seq));
  core::Activity activity;
  activity.seq = core::ActivitySeq(seq);
  WordReader reader(*words);
  activity.node = reader.number<std::uint32_t>();
  auto at = ledger::Dimensions::parse(reader.word());
  if (const std::string_view parent = reader.word(); parent != "-") {
    const auto number = number_in<std::uint32_t>(parent);
    if (!number) return corrupt(format("the row of activity {} is malformed", seq));
    activity.parent = core::ActivitySeq(*number);
  }
  const auto status = activity_status_named(reader.word());
  activity.code = reader.number<std::int32_t>();
  activity.opened_at = reader.instant();
  if (!reader.at_end()) {
    const std::string_view later = reader.word();
    const auto took = number_in<std::int64_t>(later.starts_with('+') ? later.substr(1) : later);
    if (!took) return corrupt(format("the row of activity {} is malformed", seq));
    activity.closed_at = Instant::from_micros(activity.opened_at.micros() + *took);
  }
  const auto number = number_in<std::uint64_t>(*digits);
  if (reader.malformed() || !number || !status) return corrupt(format("the row of activity {} is malformed", seq));
  if (!at) return corrupt(format("activity {}: {}", seq, at.error().detail));
  const auto ledger = ledger::ActivityLedger::decode(*number);
  if (!ledger) return corrupt(format("activity {}: {}", seq, ledger.error().detail));
  activity.at = std::move(*at);
  activity.ledger = *ledger;
  activity.status = *status;
  activity.output = payload(fields, field + ":out");
  activity.state = payload(fields, field + ":state");
  return activity;
}

// "m:<activity>:<guid>" is the ledger, "...:out" the output.
Result<core::MessageRecord> read_record(std::string_view field, std::string_view digits, const Fields& fields) {
  const auto parts = words_of(field, ':');
  const auto activity = number_in<std::uint32_t>(parts[1]);
  const auto guid = core::Guid::parse(parts[2]);
  const auto number = number_in<std::uint64_t>(digits);
  if (!activity || !guid || !number) return corrupt("the row of a message ledger is malformed");
  const auto ledger = ledger::MessageLedger::decode(*number);
  if (!ledger) return corrupt(format("message {}: {}", guid->text(), ledger.error().detail));
  return core::MessageRecord{*guid, core::ActivitySeq(*activity), *ledger,
                             payload(fields, std::string(field) + ":out")};
}

constexpr std::size_t parts_of_record = 3;

}  // namespace

Result<core::JobState> read_state(RunId run, const Fields& fields) {
  auto row = read_row(run, fields);
  if (!row) return row.error();
  core::JobState state;
  state.job = std::move(*row);
  for (std::uint32_t seq = 0; seq < state.job.next_activity; ++seq) {
    auto activity = read_activity(seq, fields);
    if (!activity) return activity.error();
    state.put(std::move(*activity));
  }
  for (auto field = fields.lower_bound("m:"); field != fields.end() && field->first.starts_with("m:"); ++field) {
    if (words_of(field->first, ':').size() != parts_of_record) continue;  // a field beside a ledger
    auto record = read_record(field->first, *field->second, fields);
    if (!record) return record.error();
    state.put(std::move(*record));
  }
  return state;
}

}  // namespace pawl::store::redis
