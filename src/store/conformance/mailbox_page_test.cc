// A mailbox is served page by page, however much waits in it, and takes no more signals than its limits allow.
#include "base/limits.h"
#include "core/mailbox.h"
#include "store/conformance/conformance.h"
#include "store/rules.h"

namespace pawl::store {

namespace {

class MailboxPages : public StoreTest {
 protected:
  static core::MailboxKey key(const std::string& name = "k") { return {Namespace("default"), Topic("t"), name}; }
  core::Message signal(std::uint64_t number, core::ReplyStatus status = core::ReplyStatus::success,
                       const std::string& data = "data") {
    return {guid(number), core::Signal{data, status}};
  }
  core::Message registration(std::uint64_t number) {
    return {guid(number), core::Register{RunId(number), core::ActivitySeq(1)}};
  }
  RunId tell(const core::Message& message, const core::MailboxKey& to = key()) {
    const Outcome told = commit(to_mailbox(to, message, lane_));
    EXPECT_EQ(told.kind, OutcomeKind::committed) << told.reason;
    return told.run();
  }
  MailboxPage page(RunId run, const MailboxPageSize& size = {}) {
    auto read = store_->read_mailbox_page(run, size, clock_.now());
    if (read && *read) return std::move(**read);
    ADD_FAILURE() << "no mailbox " << run.raw();
    return {};
  }
  // Decides and commits; false: there is nothing to decide. Adds the sends to `sent`.
  bool serve(const core::MailboxState& state, const core::MailboxCut& cut, const std::vector<core::InboxMessage>& inbox,
             std::vector<core::Envelope>& sent) {
    std::vector<core::Delivery> deliveries;
    for (const core::InboxMessage& message : inbox) deliveries.push_back({message.message});
    core::DecideOptions options;
    options.now = clock_.now();
    options.epoch = epoch_;
    options.id = core::BundleId(next_bundle_++);
    core::Decision decision = core::decide(state, deliveries, options, cut);
    if (!decision.bundle) return false;
    for (core::Write& write : decision.bundle->writes)
      if (auto* send = std::get_if<core::Send>(&write)) {
        send->lane = lane_;
        sent.push_back(send->envelope);
      }
    const Outcome outcome = commit(*decision.bundle);
    EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
    return outcome.kind == OutcomeKind::committed;
  }
  // Until nothing is left to do.
  std::vector<core::Envelope> serve_in_pages(const core::MailboxKey& of, const MailboxPageSize& size = {}) {
    std::vector<core::Envelope> sent;
    while (true) {
      const auto run = store_->find_mailbox(of);
      if (!run || !*run) return sent;
      const MailboxPage read = page(**run, size);
      if (!serve(read.state, read.cut, read.inbox, sent)) return sent;
    }
  }
  std::vector<core::Envelope> serve_whole(const core::MailboxKey& of) {
    std::vector<core::Envelope> sent;
    const auto run = store_->find_mailbox(of);
    if (run && *run) {
      const StoredMailbox read = mailbox(**run);
      serve(read.state, {}, read.inbox, sent);
    }
    return sent;
  }
  std::size_t entries_of(const core::MailboxKey& of) {
    const auto run = store_->find_mailbox(of);
    return run && *run ? mailbox(**run).state.entries.size() : 0;
  }
};

TEST_P(MailboxPages, a_signal_is_decided_without_a_look_at_those_that_wait) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 20; ++i) run = tell(signal(i));
  serve_in_pages(key());
  ASSERT_EQ(entries_of(key()), 20u);
  tell(signal(100));
  const MailboxPage read = page(run);
  EXPECT_EQ(read.inbox.size(), 1u);
  EXPECT_TRUE(read.state.entries.empty());
  EXPECT_EQ(read.state.next_entry, 20u);
  EXPECT_FALSE(read.more);
  tell(registration(200));
  EXPECT_EQ(page(run).state.entries.size(), 1u) << "one signal for one hook";
  EXPECT_TRUE(page(run).cut.signals);
}

TEST_P(MailboxPages, hold_no_more_messages_and_bytes_than_they_may) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 10; ++i) run = tell(signal(i, core::ReplyStatus::success, std::string(1000, 'x')));
  EXPECT_EQ(page(run, {4, 1u << 20}).inbox.size(), 4u);
  EXPECT_EQ(page(run, {100, 2500}).inbox.size(), 3u);
  EXPECT_EQ(page(run, {100, 1}).inbox.size(), 1u) << "the first one comes however large it is";
  EXPECT_TRUE(page(run, {100, 1}).more);
  EXPECT_FALSE(page(run).more);
  EXPECT_EQ(page(run, {4, 1u << 20}).inbox[3].message.guid, guid(3)) << "in order of arrival";
}

TEST_P(MailboxPages, what_is_taken_and_what_is_withdrawn_is_found_among_many) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 8; ++i) {
    run = tell(signal(i));
    tell(registration(100 + i));
  }
  serve_in_pages(key());
  ASSERT_EQ(entries_of(key()), 8u) << "all are out";
  const core::Guid meeting = core::meeting_of(guid(5), guid(105));
  tell({guid(500), core::Taken{guid(105), meeting}});
  tell({guid(501), core::Withdraw{guid(106)}});
  const MailboxPage read = page(run);
  ASSERT_EQ(read.state.entries.size(), 2u);
  EXPECT_EQ(read.state.entries[0].guid, guid(5));
  EXPECT_EQ(read.state.entries[1].guid, guid(6));
  EXPECT_EQ(read.state.entries[1].offered_to, guid(106));
  EXPECT_TRUE(serve_in_pages(key()).empty());
  EXPECT_EQ(entries_of(key()), 7u);
  tell(registration(300));
  const auto sent = serve_in_pages(key());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].message.guid, core::meeting_of(guid(6), guid(300))) << "the one that came back";
}

TEST_P(MailboxPages, signals_whose_time_is_over_go_page_by_page) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 5; ++i) run = tell(signal(i));
  serve_in_pages(key());
  clock_.advance(limits::early_signal_keep);
  const MailboxPage read = page(run, {3, 1u << 20});
  EXPECT_EQ(read.state.entries.size(), 3u);
  EXPECT_TRUE(read.more);
  serve_in_pages(key(), {3, 1u << 20});
  EXPECT_FALSE(store_->find_mailbox(key())->has_value()) << "nor is a timer left";
}

// Claim: a mailbox served in pages of any size does the same as when it is served whole. Random messages of all kinds.
TEST_P(MailboxPages, do_together_what_one_decision_over_everything_does) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const core::MailboxKey paged = key("paged" + std::to_string(seed));
    const core::MailboxKey whole = key("whole" + std::to_string(seed));
    const MailboxPageSize size{1 + random.below(4), random.below(2) == 0 ? 1u : 1u << 20};
    std::vector<std::uint64_t> registered, signalled;
    std::vector<core::Taken> out;
    std::uint64_t number = seed * 10'000;
    for (int round = 0; round < 12; ++round) {
      for (std::uint64_t i = random.below(8); i > 0; --i) {
        core::Message message{guid(++number), core::Signal{"data"}};
        const std::uint64_t what = random.below(11);
        if (what == 10 && !signalled.empty()) {
          message.body = core::DropSignal{guid(signalled[random.below(signalled.size())])};
        } else if (what < 4) {
          signalled.push_back(number);
          message = signal(number, random.below(2) == 0 ? core::ReplyStatus::pending : core::ReplyStatus::success);
        } else if (what < 7) {
          message = registration(number);
          registered.push_back(number);
        } else if (what < 8 && !registered.empty()) {
          const std::size_t one = random.below(registered.size());
          message.body = core::Withdraw{guid(registered[one])};
          std::erase_if(out, [&](const core::Taken& taken) { return taken.registration == guid(registered[one]); });
          registered.erase(registered.begin() + static_cast<std::ptrdiff_t>(one));
        } else if (!out.empty()) {
          message.body = out.front();
          out.erase(out.begin());
        }
        tell(message, paged);
        tell(message, whole);
      }
      const auto sent = serve_in_pages(paged, size);
      ASSERT_EQ(sent, serve_whole(whole)) << "seed " << seed << " round " << round;
      for (const core::Envelope& one : sent) {
        const auto& resume = std::get<core::Resume>(one.message.body);
        out.push_back(core::Taken{resume.registration, one.message.guid});
      }
      const auto a = store_->find_mailbox(paged);
      const auto b = store_->find_mailbox(whole);
      ASSERT_EQ(a->has_value(), b->has_value());
      if (!a->has_value()) continue;
      const auto left = mailbox(**a).state.entries;
      const auto right = mailbox(**b).state.entries;
      ASSERT_EQ(left.size(), right.size()) << "seed " << seed << " round " << round;
      for (std::size_t i = 0; i < left.size(); ++i) {
        EXPECT_EQ(left[i].guid, right[i].guid);
        EXPECT_EQ(left[i].offered_to, right[i].offered_to);
      }
      EXPECT_EQ(mailbox(**a).timers, mailbox(**b).timers);
    }
  }
}

TEST_P(MailboxPages, a_mailbox_takes_as_many_signals_as_its_limit_says_and_not_one_more) {
  std::vector<Operation> many;
  for (std::uint64_t i = 0; i < limits::early_signals_per_mailbox_max; ++i)
    many.push_back(to_mailbox(key(), signal(i), lane_));
  for (const Outcome& outcome : commit_all(many)) ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  const Outcome refused = commit(to_mailbox(key(), signal(100'000), lane_));
  EXPECT_EQ(refused.kind, OutcomeKind::over_limit);
  EXPECT_NE(refused.reason.find("10000 signals (early_signals_per_mailbox_max)"), std::string::npos) << refused.reason;
  EXPECT_EQ(kind_of(to_mailbox(key(), signal(7), lane_)), OutcomeKind::already_done) << "it is there";

  // A job's signal is refused as well, and the messages after it in its outbox are still delivered.
  if (!store_->sends_directly()) {
    Deliver sent = to_mailbox(key(), signal(100'001), lane_);
    sent.source = Deliver::Source{other_lane_, 1};
    const Outcome passed = commit(sent);
    EXPECT_EQ(passed.kind, OutcomeKind::committed);
    EXPECT_NE(passed.reason.find("early_signals_per_mailbox_max"), std::string::npos);
    sent = to_mailbox(key(), registration(200'000), lane_);
    sent.source = Deliver::Source{other_lane_, 2};
    EXPECT_EQ(commit(sent).reason, "");
  } else {
    const RunId run = submit("sender");
    core::Bundle tells = bundle_for(run);
    tells.writes = {core::Send{core::Envelope{key(), signal(100'001)}, lane_},
                    core::Send{core::Envelope{key(), registration(200'000)}, lane_}};
    const Outcome passed = commit(tells);
    EXPECT_EQ(passed.kind, OutcomeKind::committed) << "the job goes on";
    EXPECT_NE(passed.reason.find("early_signals_per_mailbox_max"), std::string::npos);
  }
  const auto sent = serve_in_pages(key());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].message.guid, core::meeting_of(guid(0), guid(200'000)));
  EXPECT_EQ(entries_of(key()), limits::early_signals_per_mailbox_max);
  EXPECT_EQ(kind_of(to_mailbox(key(), signal(100'002), lane_)), OutcomeKind::over_limit)
      << "it is out, and may come back";
  tell({guid(300'000), core::Taken{guid(200'000), sent[0].message.guid}});
  serve_in_pages(key());
  EXPECT_EQ(kind_of(to_mailbox(key(), signal(100'003), lane_)), OutcomeKind::committed) << "room was made";
  EXPECT_EQ(kind_of(to_mailbox(key(), signal(100'004), lane_)), OutcomeKind::over_limit);
  const auto run = store_->find_mailbox(key());
  EXPECT_EQ(mailbox(**run).timers.size(), limits::early_signals_per_mailbox_max - 1) << "each that waits has an end";
}

TEST_P(MailboxPages, a_request_to_drop_a_signal_is_a_page_alone_and_finds_it_among_many) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 20; ++i) run = tell(signal(i));
  serve_in_pages(key());
  tell({guid(500), core::DropSignal{guid(17)}});
  tell({guid(501), core::DropSignal{guid(3)}});
  tell(registration(200));
  tell({guid(502), core::DropSignal{guid(4711)}});
  const MailboxPage first = page(run);
  EXPECT_EQ(first.inbox.size(), 2u);
  EXPECT_TRUE(first.more);
  ASSERT_EQ(first.state.entries.size(), 2u);
  EXPECT_EQ(first.state.entries[1].guid, guid(17));
  const auto sent = serve_in_pages(key());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].message.guid, core::meeting_of(guid(0), guid(200)));
  EXPECT_EQ(std::get<core::Resume>(sent[0].message.body).data, Payload("data"))
      << "no hook gets a head without its data";
  const StoredMailbox left = mailbox(run);
  EXPECT_EQ(left.state.entries.size(), 18u);
  for (const core::MailboxEntry& entry : left.state.entries)
    EXPECT_TRUE(entry.guid != guid(3) && entry.guid != guid(17));
  EXPECT_EQ(left.timers.size(), 17u) << "what is dropped has no end any more, nor has what is out";
  EXPECT_TRUE(left.inbox.empty());
}

INSTANTIATE_TEST_SUITE_P(stores, MailboxPages, testing::ValuesIn(all_stores()), store_name);

TEST(MailboxLimits, bytes_are_counted_beside_signals) {
  const core::MailboxKey key{Namespace("n"), Topic("t"), "k"};
  const std::size_t most = limits::early_signal_bytes_per_mailbox_max;
  EXPECT_FALSE(mailbox_full(key, 1, most - 10, 10));
  const auto full = mailbox_full(key, 1, most - 10, 11);
  ASSERT_TRUE(full);
  EXPECT_NE(full->find("early_signal_bytes_per_mailbox_max"), std::string::npos) << *full;
}

}  // namespace

}  // namespace pawl::store
