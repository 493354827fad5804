// The checker is checked: a correct history passes, and each single forgery of it is found.
#include <gtest/gtest.h>

#include <string>

#include "check.h"
#include "history.h"

namespace storm {
namespace {

struct Texts {
  std::string journal, client, dump;
};

// One job of each graph, written out by hand. chain-a-1 was cut once in `two`; doomed-a-5 failed
// while its side branch was being run.
Texts honest() {
  return {
      "k11 1 a-1 begin 10 1 101 chain.one chain-a-1:x\n"
      "k11 1 a-1 end 11 2 101 chain.one chain-a-1:x\n"
      "k12 1 a-1 begin 12 3 101 chain.two chain-a-1:x/one\n"
      "k12 2 a-1 begin 20 4 101 chain.two chain-a-1:x/one\n"
      "k12 2 a-1 end 21 5 101 chain.two chain-a-1:x/one\n"
      "k13 1 a-1 begin 22 6 101 chain.three chain-a-1:x/one/two\n"
      "k13 1 a-1 end 23 7 101 chain.three chain-a-1:x/one/two\n"
      "k31 1 a-1 begin 30 8 103 pend.ship pend-a-3:x\n"
      "k31 1 a-1 end 31 9 103 pend.ship pend-a-3:x\n"
      "k32 1 a-1 begin 32 10 103 pend.note pend-a-3:x/ship.0\n"
      "k32 1 a-1 end 33 11 103 pend.note pend-a-3:x/ship.0\n"
      "k33 1 a-1 begin 32 12 103 pend.note pend-a-3:x/ship.1\n"
      "k33 1 a-1 end 33 13 103 pend.note pend-a-3:x/ship.1\n"
      "k34 1 a-1 begin 32 14 103 pend.note pend-a-3:x/ship\n"
      "k34 1 a-1 end 33 15 103 pend.note pend-a-3:x/ship\n"
      "k41 1 a-1 begin 40 16 104 caught.risky caught-a-4:x\n"
      "k41 1 a-1 end 41 17 104 caught.risky caught-a-4:x\n"
      "k42 1 a-1 begin 42 18 104 caught.refund caught-a-4:x/risky!\n"
      "k42 1 a-1 end 43 19 104 caught.refund caught-a-4:x/risky!\n"
      "k52 1 a-1 begin 50 20 105 doomed.side doomed-a-5:x\n"
      "k51 1 a-1 begin 50 21 105 doomed.fatal doomed-a-5:x\n"
      "k51 1 a-1 end 51 22 105 doomed.fatal doomed-a-5:x\n",
      "submit chain-a-1 chain chain-a-1:x\n"
      "accepted chain-a-1 101\n"
      "submit pend-a-3 pend pend-a-3:x\n"
      "accepted pend-a-3 103\n"
      "closed chain-a-1 101 completed chain-a-1:x/one/two/three\n"
      "submit caught-a-4 caught caught-a-4:x\n"
      "submit caught-a-4 caught caught-a-4:x\n"
      "exists caught-a-4 104\n"
      "submit doomed-a-5 doomed doomed-a-5:x\n"
      "accepted doomed-a-5 105\n"
      "closed doomed-a-5 105 failed activity fatal failed with code 500: doomed-a-5:x/fatal!\n"
      "closed pend-a-3 103 completed pend-a-3:x/ship\n",
      "job|101|chain-a-1|chain|1|0|1|chain-a-1:x/one/two/three|\n"
      "job|103|pend-a-3|pend|1|0|1|pend-a-3:x/ship|\n"
      "job|104|caught-a-4|caught|1|0|1|caught-a-4:x/risky!/refund|\n"
      "job|105|doomed-a-5|doomed|2|0|1||"
      "activity fatal failed with code 500: doomed-a-5:x/fatal!\n"
      "activity|101|0|0|,0|001111000000001|1|200|chain-a-1:x\n"
      "activity|101|1|1|,0,0|001111000000001|1|200|chain-a-1:x/one\n"
      "activity|101|2|2|,0,0,0|002111000000001|1|200|chain-a-1:x/one/two\n"
      "activity|101|3|3|,0,0,0,0|001111100000001|1|200|chain-a-1:x/one/two/three\n"
      "activity|103|0|0|,0|001111000000001|1|200|pend-a-3:x\n"
      "activity|103|1|1|,0,0|001111000000003|1|200|pend-a-3:x/ship\n"
      "activity|103|2|2|,0,0,0|001111000000001|1|200|pend-a-3:x/ship.0/note\n"
      "activity|103|3|2|,0,1,0|001111000000001|1|200|pend-a-3:x/ship.1/note\n"
      "activity|103|4|2|,0,2,0|001111100000001|1|200|pend-a-3:x/ship/note\n"
      "activity|104|0|0|,0|001111000000001|1|200|caught-a-4:x\n"
      "activity|104|1|1|,0,0|001111000000001|2|402|caught-a-4:x/risky!\n"
      "activity|104|2|2|,0,0,0|001111100000001|1|200|caught-a-4:x/risky!/refund\n"
      "activity|105|0|0|,0|001111000000001|1|200|doomed-a-5:x\n"
      "activity|105|1|1|,0,0|001111100000001|2|500|doomed-a-5:x/fatal!\n"
      "activity|105|2|2|,0,0|001100000000000|0|0|\n"
      "message|101|0|000011000000001\n"
      "message|101|1|000011000000001\n"
      "message|101|2|000011000000001\n"
      "message|101|3|000111100000001\n"
      "message|103|0|000011000000001\n"
      "message|103|1|000011000000001\n"
      "message|103|1|000011000000002\n"
      "message|103|1|000011000000003\n"
      "message|103|2|000011000000001\n"
      "message|103|3|000011000000001\n"
      "message|103|4|000111100000001\n"
      "message|104|0|000011000000001\n"
      "message|104|1|000011000000001\n"
      "message|104|2|000111100000001\n"
      "message|105|0|000011000000001\n"
      "message|105|1|000111100000001\n"
      "inbox|0\nwork|0\nintegrity|ok\n"};
}

// A job of the graph language that awaits another one, and one whose child got its signal.
Texts honest_app() {
  return {
      "k1 1 a-1 begin 10 1 202 tide.work {\"word\":\"await-a-1\"}\n"
      "k1 1 a-1 end 11 2 202 tide.work {\"word\":\"await-a-1\"}\n"
      "k2 1 a-1 begin 12 3 201 tide.after {\"word\":\"await-a-1\"}\n"
      "k2 1 a-1 end 13 4 201 tide.after {\"word\":\"await-a-1\"}\n"
      "k3 1 a-1 begin 14 5 204 tide.then {\"word\":\"leave-a-2\"}\n"
      "k3 1 a-1 end 15 6 204 tide.then {\"word\":\"leave-a-2\"}\n",
      "submit await-a-1 tide/tide.await {\"word\":\"await-a-1\"}\n"
      "accepted await-a-1 201\n"
      "closed await-a-1 201 completed {\"said\":\"await-a-1\"}\n"
      "submit leave-a-2 tide/tide.leave {\"word\":\"leave-a-2\"}\n"
      "accepted leave-a-2 203\n"
      "closed leave-a-2 203 completed {}\n",
      "job|201|await-a-1|tide/tide.await|1|0|1|{\"said\":\"await-a-1\"}|\n"
      "job|202|await-a-1/await.0.0|tide/tide.work|1|0|1|{\"worked\":\"await-a-1\"}|\n"
      "job|203|leave-a-2|tide/tide.leave|1|0|1|{}|\n"
      "job|204|leave-a-2/leave.0.0|tide/tide.wait|1|0|1|{\"heard\":\"leave-a-2\"}|\n"
      "activity|201|0|0|,0|001111000000001|1|200|{}\n"
      "activity|201|1|1|,0,0|001111000000001|1|200|{}\n"
      "activity|201|2|2|,0,0,0|001111100000001|1|200|{}\n"
      "activity|202|0|0|,0|001111000000001|1|200|{}\n"
      "activity|202|1|1|,0,0|001111100000001|1|200|{}\n"
      "activity|203|0|0|,0|001111000000001|1|200|{}\n"
      "activity|203|1|1|,0,0|001111100000001|1|200|{}\n"
      "activity|204|0|0|,0|001111000000001|1|200|{}\n"
      "activity|204|1|1|,0,0|001111000000001|1|200|{}\n"
      "activity|204|2|2|,0,0,0|001111100000001|1|200|{}\n"
      "message|201|0|000011000000001\n"
      "message|201|1|000011000000001\n"
      "message|201|2|000111100000001\n"
      "message|202|0|000011000000001\n"
      "message|202|1|000111100000001\n"
      "message|203|0|000011000000001\n"
      "message|203|1|000111100000001\n"
      "message|204|0|000011000000001\n"
      "message|204|1|000011000000001\n"
      "message|204|2|000111100000001\n"
      "inbox|0\nwork|0\nmailbox|0\nintegrity|ok\n"};
}

std::vector<std::string> violations_of(const Texts& texts) {
  History history;
  add_journal(history, texts.journal);
  add_client(history, texts.client);
  add_dump(history, texts.dump);
  return check(history).violations;
}

struct Forgery {
  const char* name;
  std::string Texts::*where;
  const char* from;  // must occur
  const char* to;
  const char* found;  // part of what the checker must report
};

// The last field says what a real engine would have done to leave this.
const Forgery forgeries[] = {
    {"a_lost_job", &Texts::dump, "job|104|caught-a-4|caught|1|0|1|caught-a-4:x/risky!/refund|\n", "",
     "acknowledged and is not in the store"},
    {"a_job_that_never_ended", &Texts::dump, "job|101|chain-a-1|chain|1|0|1|", "job|101|chain-a-1|chain|0|1|0|",
     "has status 0"},
    {"a_wrong_result", &Texts::dump, "|chain-a-1:x/one/two/three|\n", "|chain-a-1:x/one/three|\n", "has the result"},
    {"another_run_than_the_client_was_told", &Texts::client, "exists caught-a-4 104", "exists caught-a-4 101",
     "another run"},
    {"a_job_accepted_twice", &Texts::client, "accepted pend-a-3 103\n",
     "accepted pend-a-3 103\nsubmit pend-a-3 pend pend-a-3:x\naccepted pend-a-3 103\n", "accepted twice"},
    {"a_client_told_something_else", &Texts::client, "failed activity fatal", "completed fatal", "a client was told"},
    {"a_mark_made_twice", &Texts::dump, "activity|101|1|1|,0,0|001111000000001",
     "activity|101|1|1|,0,0|001121000000001", "is not legal"},
    {"a_message_mark_made_twice", &Texts::dump, "message|101|1|000011000000001", "message|101|1|000021000000001",
     "is not legal"},
    {"a_step_left_out", &Texts::dump, "activity|103|2|2|,0,0,0|001111000000001",
     "activity|103|2|2|,0,0,0|001110000000001", "is not done"},
    {"a_message_half_done", &Texts::dump, "message|104|1|000011000000001", "message|104|1|000010000000001",
     "half done"},
    {"a_second_completion", &Texts::dump, "job|103|pend-a-3|pend|1|0|1|", "job|103|pend-a-3|pend|1|0|2|",
     "completion tasks 2 times"},
    {"a_second_closer", &Texts::dump, "message|103|3|000011000000001", "message|103|3|000111100000001",
     "closed by 2 messages"},
    {"completion_tasks_owed", &Texts::dump, "message|101|3|000111100000001", "message|101|3|000111000000001",
     "owes the completion tasks"},
    {"a_semaphore_above_zero", &Texts::dump, "job|103|pend-a-3|pend|1|0|1|", "job|103|pend-a-3|pend|1|1|1|",
     "has semaphore 1"},
    {"an_answer_counted_twice", &Texts::dump, "message|101|2|000011000000001\n",
     "message|101|2|000011000000001\nmessage|101|2|000011000000002\n", "the store has 2"},
    {"an_ordinal_taken_twice", &Texts::dump, "message|103|1|000011000000002", "message|103|1|000011000000001",
     "ordinal"},
    {"a_missing_end", &Texts::journal, "k42 1 a-1 end 43 19 104 caught.refund caught-a-4:x/risky!\n", "",
     "no worker ended it"},
    {"a_cut_attempt_without_a_successor", &Texts::journal, "k13 1 a-1 end 23 7 101 chain.three chain-a-1:x/one/two\n",
     "k13 1 a-1 end 23 7 101 chain.three chain-a-1:x/one/two\n"
     "k13 2 a-1 begin 24 7 101 chain.three chain-a-1:x/one/two\n",
     "no other one followed"},
    {"an_activity_nobody_ran", &Texts::dump, "activity|105|2|2|,0,0|001100000000000|0|0|\n",
     "activity|105|2|2|,0,0|001111000000001|1|200|doomed-a-5:x/side\n"
     "activity|105|3|3|,0,0,0|001100000000000|0|0|\n",
     "an activity too many"},
    {"concluded_and_never_run", &Texts::journal,
     "k11 1 a-1 begin 10 1 101 chain.one chain-a-1:x\n"
     "k11 1 a-1 end 11 2 101 chain.one chain-a-1:x\n",
     "", "no worker ran it"},
    {"two_keys_for_one_activity", &Texts::journal, "k12 2 a-1 begin", "k99 2 a-1 begin", "more than one key"},
    {"an_attempt_begun_twice", &Texts::journal, "k12 2 a-1 begin 20", "k12 1 a-1 begin 20", "was begun twice"},
    {"work_for_a_job_never_submitted", &Texts::journal, "k11 1 a-1 begin",
     "k90 1 a-1 begin 1 1 190 chain.one chain-z-1:x\nk11 1 a-1 begin", "nobody asked for"},
    {"a_job_never_submitted", &Texts::dump, "inbox|0", "job|190|z|chain|1|0|1||\ninbox|0", "was never submitted"},
    {"a_message_left_in_an_inbox", &Texts::dump, "inbox|0", "inbox|1", "inbox is not empty"},
    {"work_left_over", &Texts::dump, "work|0", "work|2", "work is left"},
    {"a_damaged_store", &Texts::dump, "integrity|ok", "integrity|wrong # of entries", "integrity"},
    {"a_dump_that_was_cut_off", &Texts::dump, "inbox|0\nwork|0\nintegrity|ok\n", "", "inbox"},
    {"a_torn_line", &Texts::journal, "k31 1 a-1 begin 30 8 103 pend.ship pend-a-3:x\n",
     "k31 1 a-1 begin 30 8 103 pend.ship pend-a-3:x\nk31 1 a-\n", "unreadable"},
    {"too_few_answers", &Texts::client, "submit chain-a-1",
     "submit p1 chain p1:x\nerror p1 full\nsubmit p2 chain p2:x\nerror p2 full\nsubmit chain-a-1",
     "too few to prove anything"},
};

const Forgery app_forgeries[] = {
    {"a_child_never_started", &Texts::dump,
     "job|204|leave-a-2/leave.0.0|tide/tide.wait|1|0|1|{\"heard\":\"leave-a-2\"}|\n", "", "was never started"},
    {"a_child_started_twice", &Texts::dump, "job|203|",
     "job|299|await-a-1/await.0.0|tide/tide.work|1|0|1|{\"worked\":\"await-a-1\"}|\njob|203|", "two jobs have the id"},
    {"a_child_that_nobody_expects", &Texts::dump, "job|203|", "job|299|x/await.0.0|tide/tide.work|1|0|1|{}|\njob|203|",
     "was never submitted"},
    {"a_child_that_was_ended", &Texts::dump, "tide/tide.work|1|0|1|", "tide/tide.work|3|0|1|", "has status 3"},
    {"a_word_of_the_child_that_was_lost", &Texts::dump, "{\"said\":\"await-a-1\"}|", "{}|", "has the result"},
    {"a_signal_of_another_job", &Texts::dump, "{\"heard\":\"leave-a-2\"}|", "{\"heard\":\"leave-a-3\"}|",
     "has the result"},
    {"a_registration_left_behind", &Texts::dump, "mailbox|0", "mailbox|1", "registrations or signals are left"},
    {"a_parent_told_twice", &Texts::dump, "message|201|1|000011000000001\n",
     "message|201|1|000011000000001\nmessage|201|1|000011000000002\n", "the store has 2"},
    {"a_child_without_its_work", &Texts::journal,
     "k1 1 a-1 begin 10 1 202 tide.work {\"word\":\"await-a-1\"}\n"
     "k1 1 a-1 end 11 2 202 tide.work {\"word\":\"await-a-1\"}\n",
     "", "no worker ran it"},
};

TEST(Doctored, an_honest_history_of_an_app_has_no_violation) {
  const auto found = violations_of(honest_app());
  EXPECT_TRUE(found.empty()) << found.front();
}

TEST(Doctored, an_honest_history_has_no_violation) {
  const auto found = violations_of(honest());
  EXPECT_TRUE(found.empty()) << found.front();
}

TEST(Doctored, a_line_that_a_kill_cut_off_at_the_end_counts_as_not_written) {
  Texts texts = honest();
  texts.journal += "k53 1 a-1 begin 60 2";
  texts.client += "submit chain-a-6 ch";
  const auto found = violations_of(texts);
  EXPECT_TRUE(found.empty()) << found.front();
}

class DoctoredTest : public ::testing::TestWithParam<Forgery> {};

void expect_found(const Forgery& forgery, Texts texts) {
  std::string& text = texts.*(forgery.where);
  const auto at = text.find(forgery.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(forgery.from).size(), forgery.to);
  bool found = false;
  std::string said;
  for (const std::string& violation : violations_of(texts)) {
    said += violation + "\n";
    found = found || violation.find(forgery.found) != std::string::npos;
  }
  EXPECT_TRUE(found) << "expected '" << forgery.found << "', the checker said:\n" << said;
}

TEST_P(DoctoredTest, is_found) { expect_found(GetParam(), honest()); }

class DoctoredAppTest : public ::testing::TestWithParam<Forgery> {};

TEST_P(DoctoredAppTest, is_found) { expect_found(GetParam(), honest_app()); }

INSTANTIATE_TEST_SUITE_P(forgery, DoctoredAppTest, ::testing::ValuesIn(app_forgeries),
                         [](const auto& instance) { return std::string(instance.param.name); });
INSTANTIATE_TEST_SUITE_P(forgery, DoctoredTest, ::testing::ValuesIn(forgeries),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace storm
