// Signals that no hook has taken: which mailboxes have some, and what they are, a page at a time.
#include "base/limits.h"
#include "core/mailbox.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class KeptSignalsTest : public StoreTest {
 protected:
  static core::MailboxKey key(const std::string& name, const std::string& topic = "t",
                              const std::string& space = "default") {
    return {Namespace(space), Topic(topic), name};
  }
  RunId tell(const core::MailboxKey& to, const core::Message& message, core::LaneId lane) {
    const Outcome told = commit(to_mailbox(to, message, lane));
    EXPECT_EQ(told.kind, OutcomeKind::committed) << told.reason;
    return told.run();
  }
  core::Message signal(std::uint64_t number, const std::string& data = "data") {
    return {guid(number), core::Signal{data, core::ReplyStatus::success}};
  }
  core::Message registration(std::uint64_t number) {
    return {guid(number), core::Register{RunId(number), core::ActivitySeq(1)}};
  }
  // What the owner does with all that waits in the inbox.
  void serve(RunId run) {
    const StoredMailbox stored = mailbox(run);
    std::vector<core::Delivery> deliveries;
    for (const core::InboxMessage& message : stored.inbox) deliveries.push_back({message.message});
    core::DecideOptions options;
    options.now = clock_.now();
    options.epoch = epoch_;
    options.id = core::BundleId(next_bundle_++);
    core::Decision decision = core::decide(stored.state, deliveries, options);
    ASSERT_TRUE(decision.bundle);
    for (core::Write& write : decision.bundle->writes)
      if (auto* send = std::get_if<core::Send>(&write)) send->lane = lane_;
    ASSERT_EQ(kind_of(*decision.bundle), OutcomeKind::committed);
  }
  std::vector<RunId> runs(MailboxQuery query) {
    std::vector<RunId> found;
    for (;;) {
      const auto page = store_->list_mailboxes(query);
      EXPECT_TRUE(page) << to_string(page.error());
      if (!page || page->empty()) return found;
      for (const MailboxInfo& one : *page) found.push_back(one.run);
      query.after = page->back().run;
    }
  }
  KeptSignals kept(const KeptQuery& query) {
    auto read = store_->read_kept(query);
    if (read && *read) return std::move(**read);
    ADD_FAILURE() << "no mailbox";
    return {};
  }
  static std::vector<core::Guid> guids(const KeptSignals& kept) {
    std::vector<core::Guid> found;
    for (const core::MailboxEntry& entry : kept.entries) found.push_back(entry.guid);
    for (const auto& one : kept.unserved) found.push_back(one.message.guid);
    return found;
  }
};

TEST_P(KeptSignalsTest, a_mailbox_is_listed_while_a_signal_waits_in_it) {
  EXPECT_TRUE(runs({}).empty());
  const RunId a = tell(key("a"), signal(1), lane_);
  const RunId b = tell(key("b", "other"), signal(2), other_lane_);
  const RunId c = tell(key("c", "t", "elsewhere"), signal(3), lane_);
  const RunId hook = tell(key("hook"), registration(9), lane_);
  std::vector<RunId> all = {a, b, c};
  std::sort(all.begin(), all.end());
  for (const std::size_t rows : {1u, 2u, 100u}) EXPECT_EQ(runs({{}, {}, RunId(0), rows}), all);
  EXPECT_EQ(runs({Namespace("elsewhere"), {}}), std::vector<RunId>{c});
  EXPECT_EQ(runs({{}, Topic("other")}), std::vector<RunId>{b});
  EXPECT_EQ(runs({Namespace("default"), Topic("nothing")}), std::vector<RunId>{});
  const auto row = store_->list_mailboxes({Namespace("elsewhere"), {}});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->front(), (MailboxInfo{c, key("c", "t", "elsewhere"), 1}));
  serve(hook);
  serve(a);
  EXPECT_EQ(runs({Namespace("default"), Topic("t")}), std::vector<RunId>{a});
  tell(key("a"), {guid(50), core::DropSignal{guid(1)}}, lane_);
  serve(a);
  EXPECT_EQ(runs({Namespace("default"), Topic("t")}), std::vector<RunId>{});
  EXPECT_FALSE(store_->read_mailbox(a)->has_value()) << "an empty mailbox goes";
  EXPECT_FALSE(store_->read_kept({a})->has_value());
}

TEST_P(KeptSignalsTest, come_in_line_first_then_those_that_nobody_took_in) {
  RunId run(0);
  for (std::uint64_t i = 0; i < 5; ++i) run = tell(key("k"), signal(i, std::string(i + 1, 'x')), lane_);
  serve(run);
  for (std::uint64_t i = 5; i < 9; ++i) tell(key("k"), signal(i), lane_);
  tell(key("k"), {guid(100), core::DropSignal{guid(1)}}, lane_);
  tell(key("k"), {guid(101), core::DropSignal{guid(6)}}, lane_);
  const KeptSignals whole = kept({run});
  EXPECT_EQ(whole.key, key("k"));
  EXPECT_EQ(guids(whole), (std::vector<core::Guid>{guid(0), guid(2), guid(3), guid(4), guid(5), guid(7), guid(8)}))
      << "what a person asked to drop counts as dropped";
  EXPECT_EQ(std::get<core::Signal>(whole.entries[1].what).data, Payload("xxx"));
  EXPECT_EQ(whole.entries[0].expires_at, clock_.now() + limits::early_signal_keep);
  EXPECT_FALSE(whole.next_seq || whole.next_unserved);
  for (const std::size_t rows : {1u, 2u, 3u}) {
    std::vector<core::Guid> paged;
    KeptQuery query{run, 0, 0, rows};
    for (int i = 0; i < 20; ++i) {
      const KeptSignals page = kept(query);
      for (const core::Guid& one : guids(page)) paged.push_back(one);
      if (!page.next_seq && !page.next_unserved) break;
      query.from_seq = page.next_seq.value_or(1'000'000);
      query.from_unserved = page.next_unserved.value_or(0);
    }
    EXPECT_EQ(paged, guids(whole)) << rows << " at a time";
  }
  EXPECT_EQ(kept({run, 0, 0, 100, 1}).entries.size(), 1u) << "the first one comes however large it is";
}

TEST_P(KeptSignalsTest, do_not_count_what_a_hook_was_offered) {
  const RunId run = tell(key("k"), signal(1), lane_);
  tell(key("k"), registration(7), lane_);
  tell(key("k"), signal(2), lane_);
  serve(run);
  EXPECT_EQ(guids(kept({run})), std::vector<core::Guid>{guid(2)});
}

INSTANTIATE_TEST_SUITE_P(stores, KeptSignalsTest, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
