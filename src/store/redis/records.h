// Stored rows as words, and back. A row that cannot be read was not written by this store: `corrupt`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/bundle.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "pawl/result.h"
#include "store/operation.h"
#include "store/redis/reply.h"
#include "store/redis/text.h"
#include "store/store.h"

namespace pawl::store::redis {

using Words = std::vector<std::string>;

// Reads words one after the other and remembers the first error.
class WordReader {
 public:
  explicit WordReader(std::string_view text);
  bool malformed() const { return malformed_; }
  bool at_end() const { return next_ == words_.size(); }

  std::string_view word();
  std::string text();  // escaped
  template <class Number>
  Number number();
  Instant instant();
  Duration duration();
  core::Guid guid();
  bool flag();

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
  bool malformed_ = false;
};

// Fields and values of a hash in turn.
using Fields = std::map<std::string, const std::string*, std::less<>>;
Fields fields_of(const Reply& reply);

// The name of a message's kind, for people.
std::string_view kind_of(const core::Body& body);

// Jobs: the fields of a new row, and a row from its fields.
Words new_row(const Submit& submit, const std::optional<core::ParentLink>& parent);
Result<core::JobRow> read_row(RunId run, const Fields& fields);
std::string head_words(const core::JobHead& head);
// Everything of a job's hash: its row, activities and message ledgers.
Result<core::JobState> read_state(RunId run, const Fields& fields);

std::string activity_words(const core::Activity& activity);
std::string record_field(const core::MessageRecord& record);  // of a message's ledger

// Work items. The script assigns their number in the queue: `rest` is everything else.
std::string life_words(const core::WorkLife& life);
struct ItemWords {
  std::string order, unlocks, wake, topic, rest;
};
ItemWords item_words(const core::WorkItem& item);
Result<core::WorkItem> read_item(std::string_view place, std::string_view words, std::string input,
                                 std::string progress);
// {place, words, input, progress}
Result<core::WorkItem> read_item(const Reply& row);
// The only item of a job, while its owner has it in hand: two fields of the job's hash.
struct InHand {
  std::string words;  // behind its number; with the input if it is short
  std::string input;
};
InHand item_in_hand(const core::WorkItem& item, const ItemWords& words);
Result<core::WorkItem> read_item_in_hand(RunId run, std::string_view words, std::string input);
inline constexpr std::string_view hand_field = "w";
inline constexpr std::string_view hand_input_field = "w:in";

// Waiting messages: an entry of an inbox, a row of `pending`, a timer in the hash of its job or mailbox.
Result<core::InboxMessage> read_entry(const Reply& entry);
struct Pending {
  std::string stream_id;
  std::uint32_t redeliveries = 0;
};
Result<Pending> read_pending(std::string_view words);
std::string timer_field(const core::Guid& guid);
std::string timer_row(const core::InboxMessage& timer);
Result<core::InboxMessage> read_timer(const core::Guid& guid, std::string_view row);

// Entries of mailboxes.
std::string entry_words(const core::MailboxEntry& entry);
Result<core::MailboxEntry> read_mailbox_entry(std::uint64_t seq, std::string_view words, std::string data);

std::string engine_words(const BeatEngine& beat);  // what it holds and serves
Result<EngineInfo> read_engine(const std::string& name, std::string_view words);

Error malformed(std::string_view what);

template <class Number>
Number WordReader::number() {
  const auto read = number_in<Number>(word());
  malformed_ = malformed_ || !read;
  return read.value_or(Number{});
}

}  // namespace pawl::store::redis
