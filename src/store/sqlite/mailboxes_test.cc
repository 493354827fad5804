// What the layout of mailboxes promises: files of version 5 keep their signals, a page reads only what it needs, and
// the content of a mailbox is counted to the byte.
#include "base/limits.h"
#include "core/mailbox.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class MailboxesTest : public FileTest {
 protected:
  static constexpr RunId with_signals = core::make_run(core::LaneId(1), 2);
  static constexpr RunId with_hook = core::make_run(core::LaneId(1), 3);
  static constexpr Instant due = Instant::from_micros(9'000'000);

  // A file as the program of version 5 left it: two early signals with their timers, one signal in the inbox, and a
  // hook.
  void make_version_5() {
    { ASSERT_TRUE(open_file(path(), {}, migrations().first(5))); }
    const auto hex = [](const core::Guid& guid) { return "x'" + guid.text() + "'"; };
    const auto timer = [&](const core::Guid& signal, std::int64_t at) {
      return "INSERT INTO timers (run, guid, due, redeliveries, body) VALUES ((1 << 47) + 2, " +
             hex(core::expiry_of(signal)) + ", " + std::to_string(at) + ", 0, x'140101');";
    };
    raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
        "INSERT INTO lanes VALUES (1, 'graphs', 4, 'engine-a', 9), (2, 'graphs', 2, '', 1);"
        "INSERT INTO mailboxes VALUES ((1 << 47) + 2, 'default', 't', 'early', 3, 9, 2),"
        " ((1 << 47) + 3, 'default', 't', 'hook', 1, 8, 1);"
        "INSERT INTO mailbox_entries VALUES"
        " ((1 << 47) + 2, 0, " +
        hex(guid(1)) +
        ", x'040173009003'),"  // a signal: "s", success, 200
        " ((1 << 47) + 2, 1, " +
        hex(guid(2)) +
        ", x'04027474009003'),"
        " ((1 << 47) + 3, 0, " +
        hex(guid(4)) +
        ", x'030501');"  // a hook
        "INSERT INTO inbox (run, guid, redeliveries, body) VALUES ((1 << 47) + 2, " +
        hex(guid(3)) + ", 0, x'040175009003');" + timer(guid(1), due.micros() - 5) + timer(guid(2), due.micros()));
  }
};

TEST_F(MailboxesTest, a_file_of_version_5_keeps_its_signals_and_its_hooks) {
  make_version_5();
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  const StoredMailbox early = mailbox(with_signals);
  ASSERT_EQ(early.state.entries.size(), 2u);
  EXPECT_EQ(early.state.entries[0], (core::MailboxEntry{0, guid(1), core::Signal{"s"}, due, std::nullopt}));
  EXPECT_EQ(early.state.entries[1], (core::MailboxEntry{1, guid(2), core::Signal{"tt"}, due, std::nullopt}));
  EXPECT_EQ(early.timers.size(), 2u);
  EXPECT_EQ(early.inbox.size(), 1u);
  EXPECT_EQ(raw("SELECT signals || ' ' || signal_bytes FROM mailboxes WHERE key = 'early'"), "3 19");
  EXPECT_EQ(raw("SELECT signals || ' ' || signal_bytes FROM mailboxes WHERE key = 'hook'"), "0 0");
  const core::MailboxEntry hook = mailbox(with_hook).state.entries.at(0);
  EXPECT_EQ(hook, (core::MailboxEntry{0, guid(4), core::Register{RunId(5), core::ActivitySeq(1)}}));
  EXPECT_EQ(raw("SELECT group_concat(kind) FROM mailbox_view WHERE topic = 't'"), "signal,signal,registration");
  EXPECT_TRUE(sqlite().verify());
}

// The memory of signals is bounded in time and number, and entries are deleted a few at a time.
TEST_F(MailboxesTest, remembered_signals_go_when_their_time_is_over_or_there_are_too_many) {
  open_bench();
  const auto tell = [&](std::uint64_t number) {
    Deliver deliver = to_mailbox({Namespace("default"), Topic("t"), "k"}, {guid(number), core::Signal{"s"}}, lane_);
    deliver.remembered = true;
    EXPECT_EQ(kind_of(deliver), OutcomeKind::committed);
  };
  const auto kept = [&] { return raw("SELECT count(*) FROM signal_ids"); };
  for (std::uint64_t i = 1; i <= 5; ++i) tell(i);
  EXPECT_EQ(kept(), "5");
  clock_.advance(pawl::limits::signal_id_keep);
  tell(6);
  EXPECT_EQ(kept(), "4") << "two of the five are over and gone";
  raw("UPDATE signal_ids SET seq = seq + 999997 WHERE seq = 6; UPDATE signal_ids SET until = until * 1000");
  tell(7);
  EXPECT_EQ(raw("SELECT group_concat(seq) FROM signal_ids"), "5,1000003,1000004")
      << "3 and 4 were more than a million signals ago";
}

TEST_F(MailboxesTest, what_a_mailbox_holds_is_counted_as_it_comes_and_goes) {
  open_bench();
  const core::MailboxKey key{Namespace("default"), Topic("t"), "k"};
  const auto held = [&] { return raw("SELECT signals || ' ' || signal_bytes FROM mailboxes"); };
  const RunId run = commit(to_mailbox(key, {guid(1), core::Signal{std::string(1000, 'x')}}, lane_)).run();
  EXPECT_EQ(held(), "1 1006");
  commit(to_mailbox(key, {guid(1), core::Signal{std::string(1000, 'x')}}, lane_));
  EXPECT_EQ(held(), "1 1006") << "the same one";
  commit(to_mailbox(key, {guid(2), core::Signal{"s"}}, lane_));
  commit(to_mailbox(key, {guid(3), core::Register{RunId(5), core::ActivitySeq(1)}}, lane_));
  EXPECT_EQ(held(), "2 1012") << "a hook is no signal";
  core::Bundle bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 2;
  bundle.writes = {core::PutEntry{{0, guid(1), core::Signal{std::string(1000, 'x')}, clock_.now() + lease, guid(3)}},
                   core::PutEntry{{1, guid(2), core::Signal{"s"}, clock_.now() + lease, std::nullopt}},
                   core::Consume{guid(1)}, core::Consume{guid(2)}, core::Consume{guid(3)}};
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(held(), "2 1012");
  EXPECT_EQ(raw("SELECT offered_to FROM mailbox_view WHERE seq = 0"), guid(3).text());
  bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 2;
  bundle.writes = {core::DropEntry{0}, core::OfferEntry{1, guid(2), guid(9)}};
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(held(), "1 6");
  EXPECT_EQ(mailbox(run).state.entries.at(0).offered_to, guid(9));
  bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 2;
  bundle.writes = {core::OfferEntry{1, guid(8), std::nullopt}};
  EXPECT_EQ(kind_of(bundle), OutcomeKind::rejected) << "another signal than the one that is there";
}

}  // namespace pawl::store::sqlite
