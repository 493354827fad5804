#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "storm_store.h"

namespace storm {

namespace {

constexpr int start_looks_max = 2000;
constexpr std::chrono::milliseconds start_look_every{5};

// The names of keys: src/store/redis/keys.h, and the comments of its scripts.
constexpr const char* dump_script = R"lua(
local call = redis.call
local statuses = {running = 0, completed = 1, failed = 2, interrupted = 3, parked = 4, paused = 5}
local activity_statuses = {open = 0, completed = 1, errored = 2, skipped = 3}
local lines, jobs, indexed, waiting, work, entries = {}, 0, 0, 0, 0, 0
local function line(...) lines[#lines + 1] = table.concat({...}, "|") end

local function ledger(digits) return string.rep("0", 15 - #digits) .. digits end

local function activity(run, seq, digits, row)
  local node, place, status, code = string.match(row["a:" .. seq .. ":is"], "^(%d+) (%S+) %S+ (%S+) (%-?%d+)")
  line("activity", run, seq, node, place, ledger(digits), activity_statuses[status], code,
       row["a:" .. seq .. ":out"] or "")
end

local function job(name)
  local run = string.match(name, ":run:(%d+)$")
  local row, list = {}, call("HGETALL", name)
  for i = 1, #list, 2 do row[list[i]] = list[i + 1] end
  waiting = waiting + tonumber(row.t or "0")
  if not row.status then return end  -- a mailbox
  jobs = jobs + 1
  line("job", run, row.id, row.graph, statuses[row.status], row.semaphore, string.match(row.head, "^%d+"), row.result or "",
       row.reason or "")
  for field, value in pairs(row) do
    local seq, of = string.match(field, "^a:(%d+)$"), string.match(field, "^m:(%d+):%x+$")
    if seq then activity(run, seq, value, row) end
    if of then line("message", run, of, ledger(value)) end
  end
end

-- Of what a lane sent, the part that its target did not take.
local function untaken(name)
  local source, target = string.match(name, "^pawl:{(%d+)}:out:(%d+)$")
  local last = tonumber(call("HGET", "pawl:{" .. target .. "}:taken", source) or "0")
  for _, entry in ipairs(call("XRANGE", name, "-", "+")) do
    if tonumber(string.match(entry[1], "^%d+")) > last then waiting = waiting + 1 end
  end
end

for _, name in ipairs(call("KEYS", "pawl:*")) do
  if string.find(name, ":run:%d+$") then job(name)
  elseif string.find(name, ":out:%d+$") then untaken(name)
  elseif string.find(name, ":entries:%d+$") then entries = entries + call("ZCARD", name)
  elseif string.find(name, "}:places$") then work = work + call("ZCARD", name)
  elseif string.find(name, "}:jobs$") then indexed = indexed + call("ZCARD", name)
  elseif string.find(name, ":pending:%d+$") then
    for _, field in ipairs(call("HKEYS", name)) do
      if #field == 32 then waiting = waiting + 1 end
    end
  end
end
line("inbox", waiting)
line("work", work)
line("mailbox", entries)
line("integrity", jobs == indexed and "ok" or jobs .. " jobs, and " .. indexed .. " in the lists")
return lines
)lua";

// One server, which keeps what it acknowledged, on a socket in its folder.
class RedisStore final : public StormStore {
 public:
  explicit RedisStore(std::string folder) : folder_(std::move(folder)) { std::filesystem::create_directories(folder_); }
  ~RedisStore() override { kill(); }

  std::string address() const override { return "redis+unix://" + socket(); }
  std::optional<std::string> crash() override {
    kill();
    if (!start()) return "Redis did not start again after a crash";
    return std::nullopt;
  }
  std::optional<std::string> dump(const std::string& dir) override {
    if (auto problem = crash()) return problem;
    write_text(dir + "/dump.lua", dump_script);
    const std::string command =
        "redis-cli -e --raw -s '" + socket() + "' --eval '" + dir + "/dump.lua' > '" + dir + "/dump.txt'";
    if (std::system(command.c_str()) != 0) return "redis-cli could not dump the store";
    return std::nullopt;
  }

  bool start() {
    std::vector<std::string> words = {
        "redis-server", "--dir",         folder_,  "--port", "0", "--unixsocket", socket(),        "--appendonly",
        "yes",          "--appendfsync", "always", "--save", "",  "--logfile",    folder_ + "/log"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t storm = getpid();
    process_ = fork();
    if (process_ < 0) std::abort();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with its storm
      if (getppid() != storm) _exit(1);
      const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      dup2(nowhere, STDIN_FILENO);
      dup2(nowhere, STDOUT_FILENO);
      execvp(arguments[0], arguments.data());
      std::perror(arguments[0]);
      _exit(127);
    }
    const std::string ask = "redis-cli -s '" + socket() + "' ping 2> /dev/null | grep -q PONG";
    for (int i = 0; i < start_looks_max; ++i) {
      std::this_thread::sleep_for(start_look_every);
      if (waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        break;
      }
      if (std::system(ask.c_str()) == 0) return true;
    }
    std::fprintf(stderr, "redis-server does not start; see %s/log\n", folder_.c_str());
    return false;
  }

 private:
  std::string socket() const { return folder_ + "/socket"; }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

  const std::string folder_;
  pid_t process_ = 0;
};

}  // namespace

std::unique_ptr<StormStore> redis_store(const std::string& dir) {
  auto store = std::make_unique<RedisStore>(dir + "/redis");
  if (!store->start()) return nullptr;
  return store;
}

}  // namespace storm
