// A second process for the tests of this folder. `effect`: a runtime whose worker records in the journal that it acted,
// prints it, and never returns. `queue`: the same with many jobs and two threads. `threads`: too many threads for its
// memory. `ask`: opens the store without starting, makes one request and prints its result.
//
//   life_node DIR SLOT N effect at_least_once|hold|retry|ask_probe
//   life_node DIR SLOT N queue at_least_once|hold|retry|ask_probe
//   life_node DIR SLOT N threads COUNT
//   life_node DIR SLOT N ask interrupt|pause|resume|redrive|remove RUN
//   life_node DIR SLOT N ask pause_topic|resume_topic TOPIC
//   life_node DIR SLOT N ask complete|heartbeat TOKEN DATA
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "life.h"
#include "life_node.h"

namespace {

using namespace pawl;
using namespace pawl::testing;

void say(const std::string& word) {
  std::printf("%s\n", word.c_str());
  std::fflush(stdout);
}

int effect(const std::string& dir, const std::string& policy) {
  auto runtime = start_with({.store = dir + "/store.db"}, effect_graph(policy), [&](Work& work) -> Reply {
    write_line(dir + "/journal", "acted " + work.key());
    say("acted");
    for (;;) std::this_thread::sleep_for(1h);
  });
  if (!runtime) return 1;
  submit_step(*runtime, "e");
  for (;;) std::this_thread::sleep_for(1h);
}

int queue(const std::string& dir, const std::string& policy) {
  auto runtime =
      start_with({.store = dir + "/store.db", .worker_threads = 2}, effect_graph(policy), [&](Work& work) -> Reply {
        write_line(dir + "/journal", "acted " + work.key());
        for (;;) std::this_thread::sleep_for(1h);
      });
  if (!runtime) return 1;
  for (int i = 0; i < 60; ++i) submit_step(*runtime, "e" + std::to_string(i));
  say("submitted");
  for (;;) std::this_thread::sleep_for(1h);
}

int threads(const std::string& dir, std::uint32_t count) {
  constexpr rlim_t room = 1u << 30;  // a thread's stack takes 8 MB of it
  const rlimit limit{room, room};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  auto runtime = open_with({.store = dir + "/store.db", .worker_threads = count}, step_graph(), echo);
  if (!runtime) return 1;
  const Status started = runtime->launch();
  if (!started && started.error().detail.find("worker_threads") != std::string::npos) say("refused");
  runtime.reset();
  runtime = start_with({.store = dir + "/store.db", .worker_threads = 2}, step_graph(), echo);
  if (!runtime || end_of(*runtime, submit_step(*runtime)).status != JobStatus::completed) return 1;
  say("runs with two");
  return 0;
}

Status ask(Runtime& runtime, const std::vector<std::string>& words) {
  const std::string& what = words[0];
  const std::string& whom = words[1];
  if (what == "pause_topic") return runtime.pause_topic(whom);
  if (what == "resume_topic") return runtime.resume_topic(whom);
  if (what == "complete") return runtime.complete(whom, Reply::success(words.at(2)));
  if (what == "heartbeat") return runtime.heartbeat(whom, Payload(words.at(2)));
  const RunId run(std::strtoull(whom.c_str(), nullptr, 10));
  if (what == "interrupt") return runtime.job(run).interrupt("asked from outside");
  if (what == "pause") return runtime.job(run).pause("asked from outside");
  if (what == "resume") return runtime.job(run).resume();
  if (what == "redrive") {
    const auto going = runtime.job(run).redrive();
    return going ? Status() : Status(going.error());
  }
  if (what == "remove") return runtime.job(run).remove();
  return Error{ErrorCode::invalid, "no such request: " + what};
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 5) return 2;
  if (words[3] == "effect") return effect(words[0], words[4]);
  if (words[3] == "queue") return queue(words[0], words[4]);
  if (words[3] == "threads")
    return threads(words[0], static_cast<std::uint32_t>(std::strtoul(words[4].c_str(), nullptr, 10)));
  auto runtime = pawl::open({.store = words[0] + "/store.db"});
  const Status done = runtime ? ask(*runtime, {words.begin() + 4, words.end()}) : Status(runtime.error());
  say(done ? "ok" : to_string(done.error()));
  return done ? 0 : 1;
}
