// RemoteWorkers: how what the workers say reaches the server. An answer is sent until the server has settled it: work
// that was done is never dropped because of a token that is renewed, a proxy, or another answer in the same request.
#include <pthread.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "mapping/json_parse.h"
#include "serve/limits.h"
#include "serve/remote_workers.h"

namespace pawl::serve {

namespace {

constexpr std::size_t words_at_once_max = limits::answers_max;
constexpr std::size_t words_bytes_max = limits::body_bytes_max / 2;  // of one request, unless one word alone has more
constexpr std::size_t refusal_shown_max = 300;
// Words that are worth another request while some are on their way. With fewer, waiting for an answer gathers them.
constexpr std::size_t words_worth_a_request = 128;

// Of one entry of `results`: its code, and its detail for people. An empty code: it was taken.
struct Fate {
  std::string code;
  std::string detail;
};

std::string text_of(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Fate fate_of(const boost::json::value& result) {
  const Fate unclear{"outcome_unknown", "the server's answer cannot be read"};
  if (!result.is_object()) return unclear;
  const boost::json::object& object = result.get_object();
  const boost::json::value* ok = object.if_contains("ok");
  if (ok == nullptr || !ok->is_bool()) return unclear;
  if (ok->get_bool()) return {};
  const boost::json::value* problem = object.if_contains("problem");
  if (problem == nullptr || !problem->is_object()) return unclear;
  Fate fate{text_of(problem->get_object(), "code"), text_of(problem->get_object(), "detail")};
  return fate.code.empty() ? unclear : fate;
}

bool may_pass_later(std::string_view code) {
  return code == "retry_later" || code == "outcome_unknown" || code == "fenced";
}

}  // namespace

RemoteWorkers::Word* RemoteWorkers::waiting_heartbeat(const std::string& token) {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const Word& word) {
    return word.kind == Word::Kind::heartbeat && word.token == token;
  });
  return found == words_.end() ? nullptr : &*found;
}

void RemoteWorkers::say(Word word) {
  const std::lock_guard lock(mutex_);
  add_word(std::move(word));
}

void RemoteWorkers::add_word(Word word) {
  // From now on nobody keeps its lease: whoever left the work for later did so with the last word.
  if (word.kind == Word::Kind::last)
    if (const auto attempt = attempts_.find(word.token); attempt != attempts_.end())
      attempt->second->beat_at = std::chrono::steady_clock::time_point::max();
  // Of heartbeats that wait only the newest counts: a worker may send many while the server is away.
  Word* older = word.kind == Word::Kind::heartbeat ? waiting_heartbeat(word.token) : nullptr;
  if (older != nullptr)
    *older = std::move(word);
  else
    words_.push_back(std::move(word));
  if (may_send()) words_came_.notify_one();
}

bool RemoteWorkers::may_send() const {
  return !words_.empty() && (requests_ == 0 || words_.size() >= words_worth_a_request) && !must_wait(words_.front());
}

// Words of one attempt arrive in their order.
bool RemoteWorkers::must_wait(const Word& word) const {
  if (requests_ == 0) return false;
  const auto attempt = attempts_.find(word.token);
  return attempt != attempts_.end() && attempt->second->sending > 0;
}

void RemoteWorkers::note_sending(const std::vector<Word>& words, bool begin) {
  for (const Word& word : words) {
    if (word.kind == Word::Kind::last) continue;
    if (const auto attempt = attempts_.find(word.token); attempt != attempts_.end())
      begin ? ++attempt->second->sending : --attempt->second->sending;
  }
}

void RemoteWorkers::add_beats(std::vector<Word>& words, std::chrono::steady_clock::time_point now) {
  if (now < next_beat_) return;
  next_beat_ = now + options_.lease / beats_per_lease;
  for (auto& [token, attempt] : attempts_) {
    if (attempt->beat_at <= now && words.size() < words_at_once_max) {  // the others go with the next request
      attempt->beat_at = now + options_.lease / beats_per_lease;
      words.push_back(heartbeat_of(token, options_.lease));
      words.back().kind = Word::Kind::keep_lease;
    }
    next_beat_ = std::min(next_beat_, attempt->beat_at);
  }
}

// Heartbeats that are due, and then what waits, in its order.
std::vector<RemoteWorkers::Word> RemoteWorkers::next_words() {
  std::vector<Word> words;
  const auto now = std::chrono::steady_clock::now();
  add_beats(words, now);
  if (alone_ > 0 && !words.empty()) return words;
  std::size_t most = std::min(words_.size(), words_at_once_max - words.size());
  if (alone_ > 0) {
    most = std::min<std::size_t>(most, 1);
    --alone_;
  }
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < most && !must_wait(words_[count]); ++count) {
    bytes += words_[count].json.size();
    if (count > 0 && bytes > words_bytes_max) break;
  }
  const auto end = words_.begin() + static_cast<std::ptrdiff_t>(count);
  words.insert(words.end(), std::make_move_iterator(words_.begin()), std::make_move_iterator(end));
  words_.erase(words_.begin(), end);
  return words;
}

void RemoteWorkers::run_sender() {
  pthread_setname_np(pthread_self(), "pawl-answer");
  std::unique_lock lock(mutex_);
  for (;;) {
    words_came_.wait(lock, [this] { return closed_ || !pausing_; });
    words_came_.wait_until(lock, next_beat_, [this] { return closed_ || may_send() || must_end_stream(); });
    if (closed_ && words_.empty()) return;
    if (pausing_ && !closed_) continue;
    if (must_end_stream()) {
      end_stream(lock);
      continue;
    }
    std::vector<Word> words = next_words();
    if (words.empty()) {
      // What waits must come after words that are on their way.
      if (closed_) changed_.wait(lock, [this] { return requests_ == 0; });
      continue;
    }
    note_sending(words, true);
    ++requests_;
    lock.unlock();
    std::string body = "{\"answers\":[";
    for (const Word& word : words) body += (body.back() == '[' ? "" : ",") + word.json;
    body += "]}";
    const auto reply =
        client_->send({.method = "POST", .target = "/v1/work/answers", .body = std::move(body), .repeatable = true});
    lock.lock();
    --requests_;
    note_sending(words, false);
    const std::string why = settle(reply, std::move(words));
    changed_.notify_all();
    if (may_send()) words_came_.notify_one();
    if (why.empty()) {
      pause_ = first_pause;
      continue;
    }
    if (std::exchange(pausing_, true)) continue;  // another one has reported it
    lock.unlock();
    report_(why);
    lock.lock();
    changed_.wait_for(lock, pause_, [this] { return closed_; });
    pause_ = std::min<Duration>(2 * pause_, longest_pause);
    pausing_ = false;
    words_came_.notify_all();
  }
}

std::string RemoteWorkers::settle(const Result<HttpReply>& reply, std::vector<Word> words) {
  if (reply && reply->status == 200) return settle_each(reply->body, std::move(words));
  std::string why =
      !reply ? reply.error().detail
             : format("the server takes no answers: {} {}", reply->status, kept_text(reply->body, refusal_shown_max));
  // These two are about what was sent; everything else (a token, a proxy, a server that stops) is about now.
  const bool refused = reply && (reply->status == 400 || reply->status == 413);
  if (refused && words.size() == 1) {
    refuse(words.front(), why);
    return {};
  }
  keep(std::move(words));
  if (refused) alone_ = words_.size();
  return why;
}

std::string RemoteWorkers::settle_each(const std::string& body, std::vector<Word> words) {
  boost::json::monotonic_resource memory;
  const auto parsed = mapping::parse_json(body, &memory);
  const boost::json::value* results =
      parsed && parsed->is_object() ? parsed->get_object().if_contains("results") : nullptr;
  const bool is_list = results != nullptr && results->is_array();
  std::vector<Word> again;
  std::string why;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_there = is_list && i < results->get_array().size();
    const Fate fate = fate_of(is_there ? results->get_array()[i] : boost::json::value());
    if (fate.code.empty()) {
      forget(words[i]);
    } else if (fate.code == "stale_token") {
      // Nobody waits for that attempt any more.
      if (const auto attempt = attempts_.find(words[i].token); attempt != attempts_.end())
        attempt->second->cancelled = true;
      forget(words[i]);
    } else if (may_pass_later(fate.code)) {
      why = format("the server could not take an answer now: {}", fate.detail);
      again.push_back(std::move(words[i]));
    } else {
      refuse(words[i], fate.detail);
    }
  }
  keep(std::move(again));
  return why;
}

// Sent again, before what was said later: the same word counts once. One that keeps a lease is made anew when it is
// due.
void RemoteWorkers::keep(std::vector<Word> words) {
  if (closed_) {
    for (const Word& word : words) forget(word);
    return;
  }
  std::erase_if(words, [this](const Word& word) {
    return word.kind == Word::Kind::keep_lease ||
           (word.kind == Word::Kind::heartbeat && waiting_heartbeat(word.token) != nullptr);
  });
  words_.insert(words_.begin(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
}

// The server will never take this one. The attempt has failed then, as it would in an embedded runtime.
void RemoteWorkers::refuse(const Word& word, const std::string& why) {
  const auto attempt = attempts_.find(word.token);
  if (word.kind != Word::Kind::last || attempt == attempts_.end()) return;
  if (std::exchange(attempt->second->refused, true) || closed_) return forget(word);
  words_.insert(words_.begin(), word_of(word.token, Failure{.code = 413, .message = "the answer was refused: " + why}));
}

void RemoteWorkers::forget(const Word& word) {
  if (word.kind == Word::Kind::last) attempts_.erase(word.token);
}

}  // namespace pawl::serve
