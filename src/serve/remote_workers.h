// RemoteWorkers: workers of this process that take their work from a server. One thread takes, one sends what the
// workers say and keeps their leases (remote_answers.cc), the others work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "pawl/connect.h"
#include "pawl/worker.h"
#include "serve/http_client.h"

namespace pawl::serve {

class RemoteWorkers {
 public:
  using Report = std::function<void(const std::string&)>;
  RemoteWorkers(std::shared_ptr<HttpClient> client, const ConnectOptions& options, Report report);
  ~RemoteWorkers() { stop(Duration{0}); }

  void serve(const std::string& topic, Worker worker);
  void launch();
  // Takes nothing new, lets the running ones finish for this long, then tells them; what did not begin is given back.
  void stop(Duration at_most);

 private:
  class Line;
  struct Attempt {
    detail::WorkFacts facts;
    std::atomic<bool> cancelled{false};
    std::chrono::steady_clock::time_point beat_at{};  // its lease is kept then
    std::uint64_t pending = 0;                        // interim replies so far
    bool refused = false;                             // the server did not take its last word
  };
  struct Word {  // what is sent to the server: an object of `answers`
    // keep_lease: due without a word of the worker; last: the attempt is over.
    enum class Kind : std::uint8_t { keep_lease, heartbeat, interim, last };
    std::string token;
    std::string json;
    Kind kind = Kind::interim;
  };

  static constexpr std::chrono::milliseconds first_pause{50};  // until a server that is away is asked again
  static constexpr std::chrono::seconds longest_pause{5};
  static constexpr int beats_per_lease = 3;

  void run_taker();
  void run_sender();
  void run_worker();
  void take_in(const std::string& body);
  static Word release_of(const Attempt& attempt);
  static Word word_of(const std::string& token, const Reply& reply);
  static Word heartbeat_of(const std::string& token, Duration lease, const Payload& progress = {});
  void say(Word word);
  Word* waiting_heartbeat(const std::string& token);  // REQUIRES: mutex_ is held
  std::size_t room() const;                           // REQUIRES: mutex_ is held, as for the next ones

  std::vector<Word> next_words();
  // What became of the words. Empty: all is settled; else why some of them are sent again.
  std::string settle(const Result<HttpReply>& reply, std::vector<Word> words);
  std::string settle_each(const std::string& body, std::vector<Word> words);
  void keep(std::vector<Word> words);
  void refuse(const Word& word, const std::string& why);
  void forget(const Word& word);

  const std::shared_ptr<HttpClient> client_;
  const ConnectOptions options_;
  const Report report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<const Worker>> workers_;        // by topic; guarded by mutex_, like the rest
  std::unordered_map<std::string, std::shared_ptr<Attempt>> attempts_;  // by token: taken, and their end not told yet
  std::deque<std::shared_ptr<Attempt>> waiting_;                        // for a thread
  std::vector<Word> words_;                                             // to be sent
  std::size_t alone_ = 0;                                               // of them, the first that go one by one
  std::size_t busy_ = 0;                                                // threads that work
  bool taking_ = false;                                                 // a take is on its way
  bool stopping_ = false;                                               // nothing new is taken
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pawl::serve
