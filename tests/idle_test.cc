// A process with nothing to do does nothing: none of its threads wakes up, and it stays small. Each case is a separate
// process, which the test observes from outside, through /proc.
#include <signal.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr auto watched_for = 10s;
constexpr long resident_kb_max = 15 * 1024;

// How often each thread gave up its processor or was taken off it. A thread that never ran made no system call, no
// wake-up and no page fault.
using Switches = std::map<std::string, long>;

long number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  return at == std::string::npos ? -1 : std::stol(text.substr(at + key.size()));
}

struct Looked {
  Switches switches;
  std::map<std::string, std::string> names;
  bool asleep = true;  // all of them
};

Looked look_at(pid_t process) {
  Looked looked;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    const std::string id = task.path().filename().string();
    const std::string status = read_file(task.path().string() + "/status");
    looked.switches[id] =
        number_after(status, "\nvoluntary_ctxt_switches:") + number_after(status, "\nnonvoluntary_ctxt_switches:");
    const auto name_end = status.find('\n');
    looked.names[id] = status.substr(6, name_end - 6);
    if (status.find("\nState:\tS") == std::string::npos) looked.asleep = false;
  }
  return looked;
}

// Opens, runs `jobs` jobs, and waits until it is ended.
[[noreturn]] void be_idle(const std::string& path, int jobs, int ready) {
  auto runtime = start_runtime({.store = path});
  bool good = runtime != nullptr;
  std::vector<RunId> runs;
  for (int i = 0; good && i < jobs; ++i) {
    const auto job = runtime->start("chain", Payload("x"), {.id = "j" + std::to_string(i)});
    good = job.ok();
    if (good) runs.push_back(job->run());
  }
  for (const RunId run : runs) good = good && runtime->job(run).wait(60s).ok();
  const char answer = good ? 'y' : 'n';
  if (write(ready, &answer, 1) != 1) _exit(1);
  for (;;) pause();
}

class IdleProcess {
 public:
  IdleProcess(const std::string& path, int jobs) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) be_idle(path, jobs, ends[1]);
    close(ends[1]);
    char answer = 'n';
    good_ = read(ends[0], &answer, 1) == 1 && answer == 'y';
    close(ends[0]);
  }
  IdleProcess(const IdleProcess&) = delete;
  IdleProcess& operator=(const IdleProcess&) = delete;
  ~IdleProcess() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  bool good() const { return good_; }
  pid_t id() const { return process_; }

  // Until every thread sleeps and none ran for a second: all requests are done.
  bool settles() const {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < limit) {
      const Looked before = look_at(process_);
      std::this_thread::sleep_for(1s);
      const Looked after = look_at(process_);
      if (before.asleep && after.asleep && before.switches == after.switches) return true;
    }
    return false;
  }
  long resident_kb() const {
    return number_after(read_file("/proc/" + std::to_string(process_) + "/status"), "\nVmRSS:");
  }

 private:
  pid_t process_ = 0;
  bool good_ = false;
};

TEST(Idle, no_thread_runs_and_little_memory_is_held_fresh_after_a_hundred_jobs_or_beside_the_owner) {
  const TempDir dir;
  const IdleProcess fresh(dir / "fresh.db", 0);
  const IdleProcess used(dir / "used.db", 100);
  const IdleProcess guest(dir / "used.db", 0);  // waits for the owner to end
  ASSERT_TRUE(fresh.good() && used.good() && guest.good());
  ASSERT_TRUE(sanitized || (fresh.settles() && used.settles() && guest.settles()));
  const std::map<const char*, const IdleProcess*> all = {
      {"fresh", &fresh}, {"after 100 jobs", &used}, {"beside the owner", &guest}};
  for (const auto& [name, process] : all) {
    const Looked looked = look_at(process->id());
    const long resident = process->resident_kb();
    std::printf("%s: %zu threads, %ld kB\n", name, looked.switches.size(), resident);
    EXPECT_GT(looked.switches.size(), 4u) << name;  // engine, committer, workers, checkpointer, doorbell
    EXPECT_TRUE(sanitized || resident < resident_kb_max) << name << ": " << resident << " kB";
  }
  if (sanitized) return;
  // If the whole process was stopped and continued from outside, its threads ran: then check again.
  std::string ran;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ran.clear();
    std::map<const char*, Looked> before;
    for (const auto& [name, process] : all) before[name] = look_at(process->id());
    std::this_thread::sleep_for(watched_for);
    for (const auto& [name, process] : all) {
      const Looked after = look_at(process->id());
      for (const auto& [id, count] : after.switches)
        if (count != before[name].switches[id]) ran += std::string(name) + ": " + after.names.at(id) + " ran\n";
    }
    if (ran.empty()) break;
  }
  EXPECT_EQ(ran, "");
}

}  // namespace
}  // namespace pawl
