#include "runtime/kept_signals.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/digits.h"
#include "runtime/lane_table.h"
#include "runtime/requests.h"
#include "runtime/tasks.h"

namespace pawl::runtime {

namespace {

constexpr std::uint64_t behind_all = std::numeric_limits<std::int64_t>::max();  // no entry has this number
constexpr std::size_t mailboxes_at_once = 100;
constexpr std::uint32_t drops_at_once = 256;
constexpr int looks_max = 10;

// Behind a signal: "RUN.sSEQ" in line, "RUN.uNUMBER" among those that no owner has taken in.
struct Cursor {
  RunId mailbox{0};
  std::uint64_t seq = 0;
  std::uint64_t unserved = 0;

  std::string text() const {
    return seq == behind_all ? format("{}.u{}", mailbox.raw(), unserved) : format("{}.s{}", mailbox.raw(), seq);
  }
};

Result<Cursor> parse_cursor(const std::string& text) {
  Cursor cursor;
  if (text.empty()) return cursor;
  const auto dot = text.find('.');
  const auto run = number_in<std::uint64_t>(text.substr(0, dot));
  const auto place =
      dot == std::string::npos ? std::nullopt : number_in<std::uint64_t>(text.substr(std::min(dot + 2, text.size())));
  const char kind = run && place ? text[dot + 1] : ' ';
  if (kind != 's' && kind != 'u')
    return Error{ErrorCode::invalid, format("{} is no place in the list of kept signals; take a cursor of it", text)};
  cursor.mailbox = RunId(*run);
  cursor.seq = kind == 's' ? *place : behind_all;
  cursor.unserved = kind == 'u' ? *place : 0;
  return cursor;
}

class KeptList {
 public:
  KeptList(store::Queries& store, const KeptSignalFilter& filter, Instant now)
      : store_(store), filter_(filter), now_(now) {
    if (!filter.name_space.empty()) mailboxes_.name_space = Namespace(filter.name_space);
    if (!filter.topic.empty()) mailboxes_.topic = Topic(filter.topic);
    mailboxes_.rows_max = mailboxes_at_once;
  }

  Result<std::vector<KeptSignal>> read(Cursor from) {
    if (from.mailbox != RunId(0))
      if (const auto read = read_mailbox(from); !read) return read.error();
    mailboxes_.after = from.mailbox;
    while (!is_full()) {
      const auto page = store_.list_mailboxes(mailboxes_);
      if (!page) return page.error();
      for (const store::MailboxInfo& mailbox : *page) {
        if (is_full()) break;
        if (mailbox.key.topic.raw() == claims_topic) continue;  // no hook waits for these
        if (const auto read = read_mailbox({mailbox.run, 0, 0}); !read) return read.error();
      }
      if (page->size() < mailboxes_at_once) break;
      mailboxes_.after = page->back().run;
    }
    return std::move(found_);
  }

 private:
  bool is_full() const { return found_.size() >= filter_.rows_max; }

  Status read_mailbox(Cursor at) {
    while (!is_full()) {
      const auto page = store_.read_kept({at.mailbox, at.seq, at.unserved, filter_.rows_max - found_.size()});
      if (!page) return page.error();
      if (!*page) return {};
      for (const core::MailboxEntry& entry : (*page)->entries) add(at.mailbox, (*page)->key, entry);
      for (const auto& waiting : (*page)->unserved) add(at.mailbox, (*page)->key, waiting.message, waiting.number + 1);
      if ((*page)->next_seq) {
        at.seq = *(*page)->next_seq;
      } else if ((*page)->next_unserved) {
        at.seq = behind_all;
        at.unserved = *(*page)->next_unserved;
      } else {
        return {};
      }
    }
    return {};
  }

  void add(RunId mailbox, const core::MailboxKey& key, const core::MailboxEntry& entry) {
    KeptSignal one = signal_of(mailbox, key, entry.guid, std::get<core::Signal>(entry.what));
    one.sent_at = entry.expires_at - Duration(limits::early_signal_keep);
    one.expires_at = entry.expires_at;
    one.cursor = Cursor{mailbox, entry.seq + 1, 0}.text();
    const bool is_meant = filter_.until == Instant() || one.sent_at < filter_.until;
    if (is_meant && entry.expires_at > now_) found_.push_back(std::move(one));
  }
  void add(RunId mailbox, const core::MailboxKey& key, const core::Message& message, std::uint64_t number) {
    if (filter_.until != Instant()) return;  // when it was sent is known once it is in line
    KeptSignal one = signal_of(mailbox, key, message.guid, std::get<core::Signal>(message.body));
    one.cursor = Cursor{mailbox, behind_all, number}.text();
    found_.push_back(std::move(one));
  }

  KeptSignal signal_of(RunId mailbox, const core::MailboxKey& key, const core::Guid& guid, const core::Signal& signal) {
    KeptSignal one;
    one.id = format("{}-{}", mailbox.raw(), guid.text());
    one.name_space = key.name_space;
    one.topic = key.topic.raw();
    one.key = key.key;
    one.match = key.key.substr(key.key.find(':') + 1);  // behind the hash of the hook's rule
    one.pending = signal.status == core::ReplyStatus::pending;
    one.code = signal.code;
    one.data = signal.data;
    return one;
  }

  store::Queries& store_;
  const KeptSignalFilter& filter_;
  const Instant now_;
  store::MailboxQuery mailboxes_;
  std::vector<KeptSignal> found_;
};

}  // namespace

Result<std::vector<KeptSignal>> list_kept(store::Queries& store, const KeptSignalFilter& filter, Instant now) {
  const auto from = parse_cursor(filter.after);
  if (!from) return from.error();
  return KeptList(store, filter, now).read(*from);
}

Result<KeptName> parse_kept_id(const std::string& id) {
  const auto dash = id.find('-');
  const auto run = number_in<std::uint64_t>(id.substr(0, dash));
  const auto guid = dash == std::string::npos ? std::nullopt : core::Guid::parse(id.substr(dash + 1));
  if (!run || !guid)
    return Error{ErrorCode::invalid,
                 format("{} is no id of a kept signal; pawl signals shows the ids of those that are kept", id)};
  return KeptName{RunId(*run), *guid};
}

Result<std::optional<core::MailboxKey>> find_kept(store::Queries& store, const KeptName& name) {
  store::KeptQuery query;
  query.mailbox = name.mailbox;
  for (;;) {
    const auto page = store.read_kept(query);
    if (!page) return page.error();
    if (!*page) return std::optional<core::MailboxKey>();
    const auto& entries = (*page)->entries;
    const auto& unserved = (*page)->unserved;
    const bool is_here =
        std::any_of(entries.begin(), entries.end(), [&](const auto& one) { return one.guid == name.signal; }) ||
        std::any_of(unserved.begin(), unserved.end(), [&](const auto& one) { return one.message.guid == name.signal; });
    if (is_here) return std::optional(std::move((*page)->key));
    if (!(*page)->next_seq && !(*page)->next_unserved) return std::optional<core::MailboxKey>();
    query.from_seq = (*page)->next_seq.value_or(behind_all);
    query.from_unserved = (*page)->next_unserved.value_or(0);
  }
}

store::Operation drop_of(const store::PoolInfo& pool, const core::MailboxKey& from, const core::Guid& signal) {
  store::Deliver deliver;
  deliver.envelope = core::Envelope{from, core::Message{core::drop_of(signal), core::DropSignal{signal}}};
  deliver.lane = lane_for(pool, from);
  return deliver;
}

Status drop_kept(store::Queries& store, const store::PoolInfo& pool, const CommitAll& commit, const std::string& id) {
  const auto name = parse_kept_id(id);
  if (!name) return name.error();
  const auto from = find_kept(store, *name);
  if (!from) return from.error();
  if (!*from)
    return Error{ErrorCode::not_found,
                 format("no signal {} is kept: a hook took it, it was dropped, or a day is over", id)};
  return Requests::taken(commit_one(commit, drop_of(pool, **from, name->signal)));
}

namespace {

Result<std::uint64_t> drop_once(store::Queries& store, const store::PoolInfo& pool, const CommitAll& commit,
                                KeptSignalFilter filter, Instant now) {
  std::uint64_t dropped = 0;
  for (;;) {
    filter.rows_max = drops_at_once;
    const auto page = list_kept(store, filter, now);
    if (!page) return page.error();
    std::vector<store::Operation> drops;
    for (const KeptSignal& one : *page) {
      const auto name = parse_kept_id(one.id);
      if (!name) return name.error();
      const core::MailboxKey from{one.name_space, Topic(one.topic), one.key};
      drops.push_back(drop_of(pool, from, name->signal));
    }
    if (drops.empty()) return dropped;
    for (const auto& result : commit(std::move(drops))) {
      if (const auto taken = Requests::taken(result); !taken) return taken.error();
      ++dropped;
    }
    if (page->size() < drops_at_once) return dropped;
    filter.after = page->back().cursor;
  }
}

}  // namespace

// While it goes through the list an owner may take signals in, from behind its place to before it: so it looks again.
Result<std::uint64_t> drop_all_kept(store::Queries& store, const store::PoolInfo& pool, const CommitAll& commit,
                                    const KeptSignalFilter& filter, Instant now) {
  std::uint64_t dropped = 0;
  for (int i = 0; i < looks_max; ++i) {
    const auto more = drop_once(store, pool, commit, filter, now);
    if (!more) return more.error();
    if (*more == 0) break;
    dropped += *more;
  }
  return dropped;
}

}  // namespace pawl::runtime
