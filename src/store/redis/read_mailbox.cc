// Mailboxes: whole, for people, and by pages, for decisions.
#include "store/mailbox_page.h"
#include "store/redis/limits.h"
#include "store/redis/read_messages.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

Result<core::MailboxState> state_in(RunId run, const Reply& row) {
  core::MailboxState state;
  state.run = run;
  const auto rev = number_in<std::uint64_t>(row[0].text);
  const auto bundle = number_in<std::uint64_t>(row[1].text);
  const auto next = number_in<std::uint64_t>(row[2].text);
  if (!rev || !bundle || !next) return malformed(format("mailbox {}", run.raw()));
  state.rev = core::Rev(*rev);
  state.bundle = core::BundleId(*bundle);
  state.next_entry = *next;
  state.key = core::MailboxKey{Namespace(row[3].text), Topic(row[4].text), row[5].text};
  return state;
}

constexpr std::string_view state_fields[] = {"rev", "bundle", "next", "ns", "topic", "key", "name"};
constexpr std::size_t name_field = 6;

// One mailbox for fill_page. Each read is one or two round trips.
class Rows final : public MailboxRows {
 public:
  using Ask = std::function<Result<std::vector<Reply>>(const Commands&)>;
  Rows(const Keys& keys, RunId run, Ask ask)
      : hash_(keys.of_run(run, "run")),
        entries_(keys.of_run(run, "entries")),
        inbox_(keys.of_run(run, "inbox")),
        pending_(keys.of_run(run, "pending")),
        ask_(std::move(ask)) {}

  Status read_messages(std::size_t rows_max, const SeeMessage& see) override {
    std::string from = "-";
    while (rows_max > 0) {
      const std::size_t count = std::min(rows_max, page_messages);
      Commands commands;
      commands.add({"XRANGE", inbox_, from, "+", "COUNT", format("{}", count)});
      const auto entries = ask_(commands);
      if (!entries) return entries.error();
      const auto& list = entries->front().list;
      if (list.empty()) return {};
      const auto counts = redeliveries_of(list);
      if (!counts) return counts.error();
      for (std::size_t i = 0; i < list.size(); ++i) {
        auto message = read_entry(list[i]);
        if (!message) return message.error();
        message->redeliveries = (*counts)[i];
        if (!see(std::move(*message))) return {};
      }
      if (list.size() < count) return {};
      from = "(" + list.back()[0].text;
      rows_max -= count;
    }
    return {};
  }
  Status read_registrations(std::size_t rows_max, const See& see) override {
    return see_range("r", 0, rows_max, Data::no, see);
  }
  Status read_heads(std::size_t rows_max, const See& see) override {
    return see_range("s", 0, rows_max, Data::no, see);
  }
  Status read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) override {
    return see_range("s", from_seq, rows_max, Data::yes, see);
  }
  Status read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) override {
    return see_range("o" + registration.text(), 0, rows_max, Data::yes, see);
  }
  Status find_registration(const core::Guid& registration, const See& see) override {
    Commands commands;
    commands.add({"HGET", hash_, "g:" + registration.text()});
    const auto found = ask_(commands);
    if (!found) return found.error();
    const auto seq = number_in<std::uint64_t>(found->front().text);
    if (!seq) return {};
    return see_entries({*seq}, Data::no, see).status;
  }
  Status find_offer(const core::Taken& taken, const See& see) override {
    return see_range("o" + taken.registration.text(), 0, pawl::limits::early_signals_per_mailbox_max, Data::no,
                     [&](core::MailboxEntry entry) {
                       if (core::meeting_of(entry.guid, taken.registration) != taken.resume) return true;
                       see(std::move(entry));
                       return false;
                     });
  }

 private:
  enum class Data : std::uint8_t { no, yes };
  struct Seen {
    Status status{};
    bool enough = false;
  };
  static constexpr std::size_t page_messages = 64;
  static constexpr std::size_t heads_at_once = 64;
  static constexpr std::size_t signals_at_once = 8;  // with their data

  Result<std::vector<std::uint32_t>> redeliveries_of(const std::vector<Reply>& entries) {
    std::vector<std::string> words = {"HMGET", pending_};
    for (const Reply& entry : entries) words.push_back(entry[1][1].text);
    Commands commands;
    commands.add(words);
    const auto known = ask_(commands);
    if (!known) return known.error();
    std::vector<std::uint32_t> counts;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto pending = read_pending(known->front()[i].text);
      counts.push_back(pending ? pending->redeliveries : 0);
    }
    return counts;
  }

  Status see_range(const std::string& prefix, std::uint64_t from, std::size_t rows_max, Data data, const See& see) {
    const std::size_t at_once = data == Data::yes ? signals_at_once : heads_at_once;
    while (rows_max > 0) {
      const std::size_t count = std::min(rows_max, at_once);
      Commands commands;
      commands.add({"ZRANGE", entries_, "[" + prefix + wide(from), "[" + prefix + wide(~std::uint64_t{0}), "BYLEX",
                    "LIMIT", "0", format("{}", count)});
      const auto found = ask_(commands);
      if (!found) return found.error();
      std::vector<std::uint64_t> seqs;
      for (const Reply& member : found->front().list)
        seqs.push_back(number_in<std::uint64_t>(std::string_view(member.text).substr(prefix.size())).value_or(0));
      if (seqs.empty()) return {};
      const Seen seen = see_entries(seqs, data, see);
      if (!seen.status || seen.enough || seqs.size() < count) return seen.status;
      from = seqs.back() + 1;
      rows_max -= count;
    }
    return {};
  }

  Seen see_entries(const std::vector<std::uint64_t>& seqs, Data data, const See& see) {
    std::vector<std::string> words = {"HMGET", hash_};
    for (const std::uint64_t seq : seqs) words.push_back(format("e:{}", seq));
    if (data == Data::yes)
      for (const std::uint64_t seq : seqs) words.push_back(format("d:{}", seq));
    Commands commands;
    commands.add(words);
    const auto found = ask_(commands);
    if (!found) return {found.error()};
    const Reply& rows = found->front();
    for (std::size_t i = 0; i < seqs.size(); ++i) {
      if (rows[i].is_nil()) continue;
      auto entry = read_mailbox_entry(seqs[i], rows[i].text, rows[seqs.size() + i].text);
      if (!entry) return {entry.error()};
      if (!see(std::move(*entry))) return {{}, true};
    }
    return {};
  }

  const std::string hash_, entries_, inbox_, pending_;
  const Ask ask_;
};

}  // namespace

Result<std::optional<MailboxPage>> Reader::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  const core::LaneId lane = core::lane_of(run);
  Commands commands;
  std::vector<std::string> words = {"HMGET", keys_.of_run(run, "run")};
  words.insert(words.end(), std::begin(state_fields), std::end(state_fields));
  commands.add(words);
  const auto row = ask(lane, commands);
  if (!row) return row.error();
  if (row->front()[name_field].is_nil()) return std::optional<MailboxPage>();
  auto state = state_in(run, row->front());
  if (!state) return state.error();
  MailboxPage page;
  page.state = std::move(*state);
  Rows rows(keys_, run, [&](const Commands& asked) { return ask(lane, asked); });
  if (const auto filled = fill_page(rows, size, now, page); !filled) return filled.error();
  return std::optional<MailboxPage>(std::move(page));
}

Result<std::optional<StoredMailbox>> Reader::read_mailbox(RunId run) {
  const auto parts = read_whole(run);
  if (!parts) return parts.error();
  const Fields fields = fields_of((*parts)[0]);
  if (!fields.contains("name")) return std::optional<StoredMailbox>();
  Reply row;
  for (const std::string_view name : state_fields) {
    const auto field = fields.find(name);
    if (field == fields.end()) return malformed(format("mailbox {}", run.raw()));
    row.list.emplace_back();
    row.list.back().text = *field->second;
  }
  auto state = state_in(run, row);
  if (!state) return state.error();
  StoredMailbox stored;
  stored.state = std::move(*state);
  std::map<std::uint64_t, core::MailboxEntry> entries;
  for (auto field = fields.lower_bound("e:"); field != fields.end() && field->first.starts_with("e:"); ++field) {
    const auto seq = number_in<std::uint64_t>(std::string_view(field->first).substr(2));
    if (!seq) return malformed(format("mailbox {}", run.raw()));
    const auto data = fields.find(format("d:{}", *seq));
    auto entry = read_mailbox_entry(*seq, *field->second, data == fields.end() ? std::string() : *data->second);
    if (!entry) return entry.error();
    entries.emplace(*seq, std::move(*entry));
  }
  for (auto& [seq, entry] : entries) stored.state.entries.push_back(std::move(entry));
  if (const auto read = read_messages((*parts)[1], (*parts)[2], fields, stored.inbox, stored.timers); !read)
    return read.error();
  return std::optional<StoredMailbox>(std::move(stored));
}

Result<std::optional<KeptSignals>> Reader::read_kept(const KeptQuery& query) {
  const core::LaneId lane = core::lane_of(query.mailbox);
  const auto row = ask_one(lane, {"HMGET", keys_.of_run(query.mailbox, "run"), "ns", "topic", "key", "name"});
  if (!row) return row.error();
  if ((*row)[3].is_nil()) return std::optional<KeptSignals>();
  KeptSignals kept{{Namespace((*row)[0].text), Topic((*row)[1].text), (*row)[2].text}, {}, {}, {}, {}};
  Rows rows(keys_, query.mailbox, [&](const Commands& asked) { return ask(lane, asked); });
  if (const auto filled = fill_kept(rows, query, kept); !filled) return filled.error();
  return std::optional<KeptSignals>(std::move(kept));
}

// The names of a lane's mailboxes are in no order: all of them are looked through for a page (without HSCAN, which the
// least user may not use), but only those of the page are read.
Result<std::vector<MailboxInfo>> Reader::list_mailboxes(const MailboxQuery& query) {
  const auto lanes = committer_.lanes();
  if (!lanes) return Error{ErrorCode::retry_later, lanes.error().detail};
  std::vector<MailboxInfo> found;
  for (std::uint32_t number = std::max(core::lane_of(query.after).raw(), 1u); number <= *lanes; ++number) {
    const core::LaneId lane(number);
    std::map<RunId, core::MailboxKey> meant;
    const auto names = ask_one(lane, {"HGETALL", keys_.of_lane(lane, "mailboxes")});
    if (!names) return names.error();
    for (std::size_t i = 0; i + 1 < names->list.size(); i += 2) {
      const auto name = parts_of((*names)[i].text);
      const auto run = number_in<std::uint64_t>((*names)[i + 1].text);
      if (!name || name->size() != 3 || !run) return malformed("the name of a mailbox");
      core::MailboxKey key{Namespace((*name)[0]), Topic((*name)[1]), (*name)[2]};
      if (query.name_space && *query.name_space != key.name_space) continue;
      if (query.topic && *query.topic != key.topic) continue;
      if (RunId(*run) > query.after) meant.emplace(RunId(*run), std::move(key));
    }
    for (auto& [run, key] : meant) {
      if (found.size() == query.rows_max) return found;
      const auto signals = ask_one(lane, {"HGET", keys_.of_run(run, "run"), "signals"});
      if (!signals) return signals.error();
      const auto count = number_in<std::uint64_t>(signals->text).value_or(0);
      if (count > 0) found.push_back({run, std::move(key), count});
    }
  }
  return found;
}

}  // namespace pawl::store::redis
