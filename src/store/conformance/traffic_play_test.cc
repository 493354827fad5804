#include "store/conformance/traffic.h"
#include "store/lists.h"

namespace pawl::store {

std::string Traffic::step() {
  let_time_pass();
  const std::vector<Operation> group = draw_group();
  largest_ = std::max(largest_, group.size());
  std::string text = play_and_count(group);
  if (!random_.one_in(3)) text += send_outboxes();
  if (random_.one_in(4)) find_children();
  return text;
}

std::string Traffic::play_and_count(const std::vector<Operation>& group) {
  const std::string text = play(group);
  std::size_t line = 0;
  for (const Operation& operation : group) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string said = text.substr(line, end - line);
    line = std::min(end + 1, text.size());
    met_.insert(said.substr(0, said.find(' ', said.find("-> ") + 3)));
    const auto* bundle = std::get_if<core::Bundle>(&operation);
    if (bundle == nullptr || said.find("-> committed") == std::string::npos) continue;
    for (const core::Write& write : bundle->writes) writes_.insert(write.index());
  }
  return text;
}

std::string Traffic::send_outboxes() {
  std::string text;
  for (std::size_t from = 0; from < lanes_.size(); ++from) {
    const Lane lane = lanes_[from];
    const auto rows = store_.read_outbox(lane.id, 1 + random_.below(4));
    if (!rows) return to_string(rows.error());
    for (const Lane& target : lanes_) {
      std::vector<Operation> group;
      std::uint64_t last = 0;
      for (const OutboxRow& row : *rows) {
        if (row.lane != target.id) continue;
        Deliver deliver;
        deliver.envelope = row.envelope;
        deliver.lane = row.lane;
        deliver.source = Deliver::Source{lane.id, row.seq};
        group.emplace_back(std::move(deliver));
        last = row.seq;
      }
      if (group.empty()) continue;
      text += "\nsent " + play_and_count(group);
      if (!random_.one_in(4)) text += "\n" + play_and_count({DropOutbox{lane.id, lane.epoch, target.id, last}});
    }
  }
  return text;
}

void Traffic::find_children() {
  for (const char* kind : {"job", "child"})
    for (int i = 0; i < 12; ++i) {
      const std::string id = format("{}-{}", kind, i);
      const auto run = store_.find_run(Namespace(options_.name_space), JobId(id));
      if (!run || !*run || std::find(runs_.begin(), runs_.end(), **run) != runs_.end()) continue;
      runs_.push_back(**run);
      ids_.push_back(id);
    }
}

std::string Traffic::name_of(const core::Target& to) const {
  if (const auto* run = std::get_if<RunId>(&to)) return name_of_run(*run);
  if (const auto* box = std::get_if<core::MailboxKey>(&to)) return box->key;
  return std::get<core::JobKey>(to).id.raw();
}

std::string Traffic::read_mailboxes() {
  std::string text;
  for (std::uint64_t i = 0; i < keys_max; ++i) {
    const core::MailboxKey key{Namespace(options_.name_space), Topic("bell"), format("key-{}", i)};
    const auto run = store_.find_mailbox(key);
    text += format("\nmailbox {}", key.key);
    if (!run || !*run) {
      text += " is not there";
      continue;
    }
    const auto box = store_.read_mailbox(**run);
    if (!box || !*box) return text + " cannot be read";
    const core::MailboxState& state = (*box)->state;
    text += format(" rev {} bundle {} next {}", state.rev.raw(), state.bundle.raw(), state.next_entry);
    for (const core::MailboxEntry& entry : state.entries) {
      text += format(" e{} {} until {}", entry.seq, entry.guid.text(), entry.expires_at.micros());
      if (entry.offered_to) text += " offered to " + entry.offered_to->text();
      if (const auto* waits = std::get_if<core::Register>(&entry.what)) text += " for " + name_of_run(waits->reply_to);
      if (const auto* signal = std::get_if<core::Signal>(&entry.what)) text += format(" '{}'", signal->data.view());
    }
    text += describe((*box)->inbox) + " timers" + describe((*box)->timers);
    const auto page = store_.read_mailbox_page(**run, {2}, clock_.now());
    if (!page || !*page) return text + " has no page";
    text += format(" page of {} more {} cut {} {} {}", (*page)->inbox.size(), (*page)->more, (*page)->cut.registrations,
                   (*page)->cut.signals, (*page)->cut.offers.size());
    for (const core::MailboxEntry& entry : (*page)->state.entries) text += format(" e{}", entry.seq);
  }
  return text;
}

std::string Traffic::read_outboxes() {
  std::string text;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto rows = store_.read_outbox(lanes_[i].id, 3);
    if (!rows) return to_string(rows.error());
    text += format("\noutbox {}", i);
    for (const OutboxRow& row : *rows)
      text += format(" to {} #{} {} kind {}", row.lane == lanes_[0].id ? 0 : 1, row.seq, name_of(row.envelope.to),
                     row.envelope.message.body.index());
  }
  return text;
}

// Jobs and announcements as lists for people, in parts, from cursor to cursor.
std::string Traffic::read_lists() {
  std::string text;
  for (const ListOrder order : {ListOrder::oldest_first, ListOrder::newest_first}) {
    text += "\nlisted";
    std::string after;
    for (bool ended = false; !ended;) {
      ListQuery filter;
      filter.name_space = Namespace(options_.name_space);
      auto list = JobList::begin(store_, JobQuery{filter}, order, after, 7);
      if (!list) return text + to_string(list.error());
      for (int i = 0; i < 7 && !ended; ++i) {
        const auto row = list->next();
        if (!row) return text + to_string(row.error());
        ended = !row->has_value();
        if (!ended) text += " " + name_of_run((*row)->run);
      }
      after = list->cursor().text();
    }
  }
  AnnouncementQuery filter;
  filter.name_space = Namespace(options_.name_space);
  auto list = AnnouncementList::begin(store_, filter, "", 100);
  if (!list) return text + to_string(list.error());
  text += "\nsaid";
  for (auto row = list->next(); row && *row; row = list->next()) text += " " + name_of_run((*row)->run);
  return text;
}

std::string Traffic::read_back() { return History::read_back() + read_mailboxes() + read_outboxes() + read_lists(); }

}  // namespace pawl::store
