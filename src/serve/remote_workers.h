// RemoteWorkers: workers of this process that take their work from a server. One thread reads the stream of work, some
// send what the workers say and keep their leases (remote_answers.cc), the others work.
//
// A stream is ended by a request, and then read to its end: so all that the server has handed out is known here, and
// what did not begin is given back only when nothing can come after it.
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
#include "serve/work_queue.h"

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
    std::size_t sending = 0;                          // words before the last one that are on their way
  };
  struct Word {  // what is sent to the server: an object of `answers`
    // keep_lease: due without a word of the worker; last: the attempt is over.
    enum class Kind : std::uint8_t { keep_lease, heartbeat, interim, last };
    std::string token;
    std::string json;
    Kind kind = Kind::interim;
  };

  static constexpr const char* work_stream_target = "/v1/work/stream";
  static constexpr std::chrono::milliseconds first_pause{50};  // until a server that is away is asked again
  static constexpr std::chrono::seconds longest_pause{5};
  static constexpr int beats_per_lease = 3;

  static constexpr int senders = 3;

  void run_taker();
  void run_sender();
  void run_worker();
  void hear(std::string& text);       // takes in the whole lines of what has come
  bool wants_another_stream() const;  // REQUIRES: mutex_ is held, as for the next ones
  bool must_end_stream() const { return stream_open_ && !stream_ending_ && wants_another_stream(); }
  void end_stream(std::unique_lock<std::mutex>& lock);
  std::string stream_name() const;
  static Word release_of(const Attempt& attempt);
  static Word word_of(const std::string& token, const Reply& reply);
  static Word heartbeat_of(const std::string& token, Duration lease, const Payload& progress = {});
  void say(Word word);
  void add_word(Word word);                           // REQUIRES: mutex_ is held, as for the next ones
  Word* waiting_heartbeat(const std::string& token);
  std::size_t most() const;  // attempts here at once

  bool may_send() const;
  std::vector<Word> next_words();
  void add_beats(std::vector<Word>& words, std::chrono::steady_clock::time_point now);
  bool must_wait(const Word& word) const;
  void note_sending(const std::vector<Word>& words, bool begin);
  // What became of the words. Empty: all is settled; else why some of them are sent again.
  std::string settle(const Result<HttpReply>& reply, std::vector<Word> words);
  std::string settle_each(const std::string& body, std::vector<Word> words);
  void keep(std::vector<Word> words);
  void refuse(const Word& word, const std::string& why);
  void forget(const Word& word);

  const std::shared_ptr<HttpClient> client_;
  const ConnectOptions options_;
  const Report report_;
  const std::string name_;  // of this process's streams: nobody else's have it
  std::mutex mutex_;
  std::condition_variable changed_;  // of all but the next two
  std::condition_variable work_came_;
  std::condition_variable words_came_;
  std::map<std::string, std::shared_ptr<const Worker>> workers_;        // by topic; guarded by mutex_, like the rest
  std::unordered_map<std::string, std::shared_ptr<Attempt>> attempts_;  // by token: taken, and their end not told yet
  std::deque<std::shared_ptr<Attempt>> waiting_;                        // for a thread
  std::vector<Word> words_;                                             // to be sent
  std::size_t alone_ = 0;                                               // of them, the first that go one by one
  std::size_t requests_ = 0;                                            // of answers, on their way
  std::chrono::steady_clock::time_point next_beat_{};                   // no lease must be kept before
  Duration pause_ = first_pause;                                        // the next one of the senders
  bool pausing_ = false;                                                // the server could not take an answer
  WorkQueue queue_;                                                     // where no size is given
  std::size_t busy_ = 0;                                                // threads that work
  std::uint64_t stream_ = 0;                                            // the number of the current stream, or the last
  std::size_t stream_room_ = 0;                                         // how many attempts of it are out at the most
  std::size_t stream_topics_ = 0;                                       // that it was opened for
  bool taking_ = false;                                                 // a stream is opened, or open
  bool stream_open_ = false;                                            // the server has begun it
  bool stream_ending_ = false;                                          // it was asked to end it
  bool stopping_ = false;                                               // nothing new is taken
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pawl::serve
