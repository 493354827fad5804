// NodeProcess: a storm node as the supervisor sees it: a process, the words that it prints on a pipe, and the files
// that it leaves. No code of the engine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <ios>
#include <string>
#include <vector>

namespace storm {

class NodeProcess {
 public:
  struct Setup {
    std::string program, dir, slot;
    int incarnation = 0;
    std::vector<std::string> flags;
  };
  explicit NodeProcess(Setup setup);
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;
  ~NodeProcess();  // kills it if it still runs

  const std::string& slot() const { return setup_.slot; }
  // Waits until it printed `word`; false when the time is over or the process is gone.
  bool wait_for(const std::string& word, std::chrono::milliseconds at_most);
  void send(int signal) const;
  void kill();  // SIGKILL, and waits for its end
  // Its exit code after a graceful end; -1 when it did not come in time or was killed.
  int wait(std::chrono::milliseconds at_most);
  // After kill(): whether an attempt had begun and not ended, or a submit had no answer.
  bool was_busy() const;

 private:
  const Setup setup_;
  const std::streamoff log_before_;  // where this process's part of the client log begins
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string said_ = "\n";  // each word is between line ends
};

}  // namespace storm
