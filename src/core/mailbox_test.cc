#include "core/mailbox.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "core/apply.h"

namespace pawl::core {

namespace {

Delivery signal(std::uint64_t number) {
  return {{Guid{number, 1}, Signal{Payload("s")}}, Origin::memory, 0, false};
}
Delivery registration(std::uint64_t number) {
  return {{Guid{number, 2}, Register{RunId(number), ActivitySeq(3)}}, Origin::memory, 0, false};
}

// Decides and applies; returns what was sent, as "run<guid>".
struct Box {
  MailboxState state;
  std::vector<Resume> resumed;
  std::vector<Envelope> sent;
  std::size_t consumed = 0;
  std::size_t rows_written = 0;

  std::size_t take(std::vector<Delivery> deliveries) {
    const Decision decision = decide(state, deliveries, DecideOptions{});
    if (!decision.bundle) return decision.done.size();
    EXPECT_TRUE(check(state, *decision.bundle));
    apply(state, *decision.bundle);
    for (const Write& write : decision.bundle->writes) {
      if (const auto* send = std::get_if<Send>(&write)) sent.push_back(send->envelope);
      consumed += std::holds_alternative<Consume>(write) ? 1 : 0;
      rows_written += std::holds_alternative<PutEntry>(write) ? 1 : 0;
    }
    return decision.done.size();
  }
};

TEST(mailbox, an_early_signal_waits_for_the_first_registration) {
  Box box;
  EXPECT_EQ(box.take({signal(1)}), 1u);
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.take({registration(7)}), 1u);
  EXPECT_TRUE(box.state.entries.empty());
  ASSERT_EQ(box.sent.size(), 1u);
  EXPECT_EQ(box.sent[0].to, Target(RunId(7)));
  const auto& resume = std::get<Resume>(box.sent[0].message.body);
  EXPECT_EQ(resume.activity, ActivitySeq(3));
  EXPECT_EQ(resume.registration, (Guid{7, 2}));
  EXPECT_EQ(resume.data, Payload("s"));
}

TEST(mailbox, a_registration_waits_for_the_first_signal) {
  Box box;
  box.take({registration(7)});
  box.take({registration(8)});
  box.take({signal(1)});
  ASSERT_EQ(box.sent.size(), 1u);
  EXPECT_EQ(box.sent[0].to, Target(RunId(7))) << "the oldest one";
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.state.entries[0].guid, (Guid{8, 2}));
}

TEST(mailbox, signals_meet_registrations_in_order) {
  Box box;
  box.take({signal(1), signal(2), signal(3)});
  box.take({registration(7), registration(8)});
  ASSERT_EQ(box.sent.size(), 2u);
  EXPECT_EQ(box.sent[0].to, Target(RunId(7)));
  EXPECT_EQ(box.sent[1].to, Target(RunId(8)));
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.state.entries[0].guid, (Guid{3, 1}));
}

TEST(mailbox, a_meeting_has_the_same_name_whoever_came_first) {
  Box one;
  one.take({signal(1)});
  one.take({registration(7)});
  Box two;
  two.take({registration(7)});
  two.take({signal(1)});
  EXPECT_EQ(one.sent[0].message.guid, two.sent[0].message.guid);
}

TEST(mailbox, different_meetings_have_different_names) {
  Box box;
  box.take({signal(1), signal(2), registration(7), registration(8)});
  ASSERT_EQ(box.sent.size(), 2u);
  EXPECT_NE(box.sent[0].message.guid, box.sent[1].message.guid);
}

TEST(mailbox, who_comes_and_goes_within_a_bundle_leaves_no_row) {
  Box box;
  EXPECT_EQ(box.take({signal(1), registration(7)}), 2u);
  EXPECT_EQ(box.rows_written, 0u);
  EXPECT_EQ(box.consumed, 2u);
  EXPECT_EQ(box.sent.size(), 1u);
  box.take({signal(2)});
  EXPECT_EQ(box.state.entries.size(), 1u);
}

TEST(mailbox, other_messages_are_acknowledged_without_effect) {
  Box box;
  EXPECT_EQ(box.take({{{Guid{1, 1}, Start{"x"}}, Origin::memory, 0, false}}), 1u);
  EXPECT_EQ(box.consumed, 1u);
  EXPECT_TRUE(box.state.entries.empty());
}

TEST(mailbox, without_deliveries_nothing_is_decided) {
  EXPECT_FALSE(decide(MailboxState{}, std::span<const Delivery>(), DecideOptions{}).bundle);
}

TEST(mailbox, early_signals_stop_at_their_limit_and_stay_in_the_inbox) {
  Box box;
  std::vector<Delivery> many;
  for (std::uint64_t i = 0; i <= limits::early_signals_per_mailbox_max; ++i)
    many.push_back(signal(i));
  EXPECT_EQ(box.take(many), limits::early_signals_per_mailbox_max);
  EXPECT_EQ(box.take({signal(999'999)}), 0u);
  box.take({registration(7)});
  EXPECT_EQ(box.take({signal(999'999)}), 1u) << "room was made";
}

}  // namespace

}  // namespace pawl::core
