// Gate: a proxy between a client and a server, by sockets of this machine. It counts the commands that pass, and cuts
// the connection after a chosen one: the server has done exactly what passed, and its answer to the last command is
// lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <list>
#include <string>
#include <thread>

namespace pawl::testing {

class Gate {
 public:
  enum class Then : bool { stays_shut, opens_again };

  Gate(std::filesystem::path server_socket, std::filesystem::path own_socket);
  ~Gate();
  Gate(const Gate&) = delete;

  std::string url() const { return "redis+unix://" + own_.string(); }
  // From now on: how many pass before it cuts; once.
  void cut_after(std::size_t commands, Then then);
  std::size_t passed() const { return passed_; }
  bool has_cut() const { return cuts_ > 0; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    std::string waiting;  // from the client: not a whole command yet
  };
  void run();
  void accept_one();
  bool from_client(Pair& pair);  // false: the pair is over
  bool from_server(Pair& pair);
  void cut(Pair& pair);

  const std::filesystem::path server_;
  const std::filesystem::path own_;
  int listener_ = -1;
  int waker_[2] = {-1, -1};
  std::list<Pair> pairs_;
  std::atomic<std::size_t> passed_{0};
  std::atomic<std::size_t> limit_{0};  // 0: none
  std::atomic<Then> then_{Then::stays_shut};
  std::atomic<std::size_t> cuts_{0};
  std::atomic<bool> shut_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace pawl::testing
