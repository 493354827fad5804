// One job of two worker activities under collation duplex, on a real server.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "ledger/duplex_state.h"
#include "redis/duplex_driver.h"
#include "redis/gate.h"
#include "store/redis/connection.h"
#include "store/redis/server_test.h"
#include "store/redis/store.h"

namespace pawl::testing {
namespace {

using store::redis::Connection;
using store::redis::TestServer;

class RedisDuplex : public ::testing::Test {
 protected:
  // A lane on this server, under its own prefix.
  struct Place {
    store::redis::Options options;
    core::LaneId lane{1};
  };
  Place place() {
    Place made;
    made.options.prefix = store::redis::fresh_prefix();
    made.options.accept_weaker = true;
    const auto store = open(server_.url(), made);
    const std::vector<store::Operation> start = {store::OpenPool{Pool("graphs"), 1}};
    EXPECT_TRUE(store->commit(start).ok());
    return made;
  }
  static std::unique_ptr<store::redis::Store> open(const std::string& url, const Place& place) {
    auto opened = store::redis::Store::open(url, place.options);
    if (opened) return std::move(*opened);
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }

  // The end is correct, each leg was left once, and only the job is left.
  void expect_right(store::redis::Store& store, const Place& place, const std::string& what) {
    const auto run = store.find_run(Namespace("default"), JobId("job"));
    ASSERT_TRUE(run.ok() && run->has_value()) << what;
    const auto job = store.duplex().read(**run);
    ASSERT_TRUE(job.ok() && job->has_value()) << what;
    EXPECT_EQ((*job)->job.status, core::JobStatus::completed) << what;
    EXPECT_EQ((*job)->job.result.str(), "x,one,two") << what;
    EXPECT_TRUE((*job)->stream.empty()) << what;
    EXPECT_TRUE((*job)->open.empty()) << what;
    ASSERT_EQ((*job)->cells.size(), 3u) << what;
    for (const store::DuplexCell& cell : (*job)->cells) {
      const auto state = ledger::DuplexState::decode(cell.value);
      ASSERT_TRUE(state.ok()) << what << ": " << cell.value;
      EXPECT_TRUE(state->closed() && state->leg1_left()) << what << ": " << state->digits();
      EXPECT_EQ(state->exits(), 1u) << what << ": " << state->digits();
      EXPECT_GE(state->entries(), 1u) << what << ": " << state->digits();
      EXPECT_LE(state->entries(), 2u) << what << ": " << state->digits();
      EXPECT_LE(state->leg1_entries(), 2u) << what << ": " << state->digits();
      EXPECT_TRUE(cell.closer) << what;
    }
    for (const char* name : {"marks:", "open:", "closed:", "told:", "free:", "held:", "claimed:"})
      EXPECT_EQ(server_.ask({"KEYS", place.options.prefix + ":*:" + name + "*"}), "") << what;
    for (const char* stream : {"stream:%", "stream:one", "stream:two"})
      EXPECT_EQ(server_.ask({"XLEN", place.options.prefix + ":{1}:" + stream}), "0") << what << " " << stream;
  }

  TestServer server_;
};

// --- the letters

// The words of one command, as MONITOR prints it.
std::vector<std::string> words_in(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = line.find(" \""); at != std::string::npos && at < line.size();) {
    std::string word;
    for (at += 2; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\') ++at;
      word += line[at];
    }
    words.push_back(word);
    at = line.find(" \"", at);
  }
  return words;
}

// Finds the letters of the duplex sequences in commands: of the trigger, and of an activity by what is done with its
// cell and its messages.
class Letters {
 public:
  explicit Letters(std::string place, std::string child) : place_(std::move(place)), child_(std::move(child)) {}

  void note(const std::vector<std::string>& words) {
    if (words.empty()) return;
    const std::string& command = words[0];
    const auto has = [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    if (command == "HSET" && words[1].ends_with("}:ids")) trigger += 'A';
    if (command == "HSETNX" && words[2] == "c:0@,0") trigger += words[3] == "888000001000001" ? 'B' : '?';
    if (command == "HSETNX" && words[2] == "c:" + place_ && words[3] == "999000000000000") trigger += 'E';
    if (command == "HSETNX" && words[2] == "c:" + child_ && words[3] == "999000000000000") leg2 += 'q';
    if (command == "HINCRBY" && words[2] == "c:" + place_) added(words[3]);
    if (command == "HMGET" && has("c:" + place_) && worker == "g") worker += 'h';
    if (command == "XADD") put(words);
    if (command == "XCLAIM") moved(words[1], words[5], {'a', 'g', 'l'});
    if (command == "XDEL") moved(words[1], words[2], {'f', 'k', 's'});
  }

  std::string trigger, leg1, worker, leg2;

 private:
  struct Of {
    char transition, request, response;
  };
  void added(const std::string& number) {
    if (number == "-100000000000000")
      leg1 += 'c';
    else if (number == "-10000000000000")
      leg1 += 'e';
    else if (number == "1000000")
      leg2 += 'm';
    else if (number == "-999999999999")
      leg2 += "op";  // exit and status by one add
    else
      leg2 += '?';
  }
  void put(const std::vector<std::string>& words) {
    std::map<std::string, std::string> fields;
    for (std::size_t i = 3; i + 1 < words.size(); i += 2) fields[words[i]] = words[i + 1];
    if (fields["kind"] == "cleanup" && child_.empty()) leg2 += 'r';  // of the last activity
    if (fields["kind"] == "transition" && fields["place"] == child_) leg2 += 'n';
    if (fields["place"] != place_) return;
    kinds_[words[1] + " " + words[2]] = fields["kind"];
    if (fields["kind"] == "transition") trigger += 'C';
    if (fields["kind"] == "request") leg1 += 'd';
    if (fields["kind"] == "response") worker += 'j';
  }
  void moved(const std::string& stream, const std::string& id, Of letters) {
    const auto known = kinds_.find(stream + " " + id);
    if (known == kinds_.end()) return;
    if (known->second == "transition") leg1 += letters.transition;
    if (known->second == "request") worker += letters.request;
    if (known->second == "response") leg2 += letters.response;
  }

  const std::string place_, child_;
  std::map<std::string, std::string> kinds_;  // of messages, by stream and id
};

// The job runs while MONITOR records; scripts are not even allowed.
TEST_F(RedisDuplex, monitor_shows_the_letters_in_their_order_and_no_script) {
  const Place here = place();
  const auto store = open(server_.url(), here);
  server_.ask({"ACL", "SETUSER", "default", "-@scripting"});
  store::redis::ConnectionOptions options;
  options.connect_timeout = options.reply_timeout = std::chrono::seconds(10);
  auto monitor = Connection::open({(server_.folder() / "socket").string(), 0}, options);
  ASSERT_TRUE(monitor.ok());
  ASSERT_TRUE((*monitor)->ask_one({"MONITOR"}).ok());

  DuplexDriver driver(store->duplex(), here.lane, core::Epoch(1));
  driver.submit("job");
  driver.run();
  server_.ask({"PING", "over"});

  Letters one("1@,0,0", "2@,0,0,0");
  Letters two("2@,0,0,0", "");
  for (;;) {
    const auto heard = (*monitor)->receive(std::chrono::seconds(10));
    ASSERT_TRUE(heard.ok() && heard->has_value());
    const auto words = words_in((*heard)->text);
    if (words == std::vector<std::string>{"PING", "over"}) break;
    one.note(words);
    two.note(words);
    for (const char* script : {"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "SCRIPT"})
      EXPECT_NE(words[0], script);
    EXPECT_EQ((*heard)->text.find(" lua]"), std::string::npos) << (*heard)->text;
  }
  // Children are set before their messages are enqueued, in both places (docs/decisions/060): E before C, q before n.
  EXPECT_EQ(one.trigger, "ABEC");
  EXPECT_EQ(one.leg1, "acdef");
  EXPECT_EQ(one.worker, "ghjk");
  EXPECT_EQ(one.leg2, "lmqnops");
  EXPECT_EQ(two.leg1, "acdef");
  EXPECT_EQ(two.worker, "ghjk");
  EXPECT_EQ(two.leg2, "lmoprs");
  expect_right(*store, here, "under MONITOR");
}

// --- a crash after each command

class RedisDuplexCrash : public RedisDuplex {
 protected:
  // Every nth command; all of them with PAWL_EVERY_COMMAND=1, as `make storm` does. Neighbours differ little: most are
  // reads.
  static std::size_t step(std::size_t usual) { return std::getenv("PAWL_EVERY_COMMAND") == nullptr ? usual : 1; }
  // Of a job without a fault.
  std::size_t commands_of_a_job() {
    const Place here = place();
    Gate gate(server_.folder() / "socket", server_.folder() / "gate");
    const auto store = open(gate.url(), here);
    gate.cut_after(0, Gate::Then::stays_shut);
    DuplexDriver driver(store->duplex(), here.lane, core::Epoch(1));
    driver.submit("job");
    driver.run();
    expect_right(*store, here, "undisturbed");
    EXPECT_EQ(driver.runs(), (std::map<std::string, int>{{"one", 1}, {"two", 1}}));
    return gate.passed();
  }
};

// The client is gone after its n-th command, for every n; another engine finishes what it finds.
TEST_F(RedisDuplexCrash, behind_each_command_another_engine_finishes_the_job) {
  const std::size_t all = commands_of_a_job();
  ASSERT_GT(all, 100u);
  std::size_t tried = 0;
  for (std::size_t n = 1; n <= all; n += step(3), ++tried) {
    const std::string what = "killed behind command " + std::to_string(n) + " of " + std::to_string(all);
    const Place here = place();
    std::map<std::string, int> runs;
    {
      Gate gate(server_.folder() / "socket", server_.folder() / "gate");
      const auto store = open(gate.url(), here);
      ASSERT_NE(store, nullptr);
      gate.cut_after(n, Gate::Then::stays_shut);
      DuplexDriver driver(store->duplex(), here.lane, core::Epoch(1));
      driver.submit("job");
      driver.run([&] { return gate.has_cut(); });
      runs = driver.runs();
    }
    const auto store = open(server_.url(), here);
    DuplexDriver driver(store->duplex(), here.lane, core::Epoch(2));
    const auto run = store->find_run(Namespace("default"), JobId("job"));
    ASSERT_TRUE(run.ok());
    const bool over = run->has_value() && core::is_closed((*store->read_job_row(**run))->status);
    if (!run->has_value()) driver.submit("job");  // a client that got no answer asks again
    if (over)
      driver.run([&] { return (*store->duplex().read(**run))->stream.empty(); });
    else
      driver.run();
    for (const auto& [topic, times] : driver.runs()) runs[topic] += times;
    for (const auto& [topic, times] : runs) EXPECT_LE(times, 2) << what << ", " << topic;
    expect_right(*store, here, what);
    if (HasFailure()) return;
  }
  std::printf("tried: a dead client behind %zu of %zu commands\n", tried, all);
}

// The command was done, and its answer lost; the same engine continues.
TEST_F(RedisDuplexCrash, behind_each_command_a_lost_answer_changes_nothing) {
  const std::size_t all = commands_of_a_job();
  std::size_t tried = 0;
  for (std::size_t n = 1; n <= all; n += step(11), ++tried) {
    const std::string what = "answer lost of command " + std::to_string(n) + " of " + std::to_string(all);
    const Place here = place();
    Gate gate(server_.folder() / "socket", server_.folder() / "gate");
    const auto store = open(gate.url(), here);
    ASSERT_NE(store, nullptr);
    gate.cut_after(n, Gate::Then::opens_again);
    DuplexDriver driver(store->duplex(), here.lane, core::Epoch(1));
    driver.submit("job");
    driver.run();
    // The number of reads varies: near the end there may be no such command any more.
    EXPECT_TRUE(gate.has_cut() || n + 50 > all) << what;
    EXPECT_EQ(driver.runs(), (std::map<std::string, int>{{"one", 1}, {"two", 1}})) << what;
    expect_right(*open(server_.url(), here), here, what);
    if (HasFailure()) return;
  }
  std::printf("tried: a lost answer to %zu of %zu commands\n", tried, all);
}

}  // namespace
}  // namespace pawl::testing
