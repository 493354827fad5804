#include "execute/documents.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "execute/values.h"

namespace pawl::execute {
namespace {

class Documents {
 public:
  std::shared_ptr<const json::value> find(const Payload& payload) {
    forget_unused();
    if (payload.size() < document_bytes_min) return parse(payload);
    for (Kept& one : kept_) {
      if (!is_same(one.text, payload)) continue;
      one.used = questions_;
      return one.value;
    }
    Kept made{payload, parse(payload), questions_};
    make_room(payload.size());
    bytes_ += payload.size();
    return kept_.emplace_back(std::move(made)).value;
  }
  void begin_decision() { bytes_max_ = documents_of_decision_bytes_max; }
  void end_decision() {
    bytes_max_ = documents_bytes_max;
    make_room(0);
  }
  std::uint64_t parsed() const { return parsed_; }

 private:
  struct Kept {
    Payload text;  // holds the bytes, so that their address is not reused
    std::shared_ptr<const json::value> value;
    std::uint64_t used = 0;
  };

  // A job that was unloaded and loaded again has the same bytes at another address.
  static bool is_same(const Payload& a, const Payload& b) { return a.view().data() == b.view().data() || a == b; }

  std::shared_ptr<const json::value> parse(const Payload& payload) {
    ++parsed_;
    return std::make_shared<const json::value>(read_payload(payload));
  }

  void drop(std::size_t index) {
    bytes_ -= kept_[index].text.size();
    std::swap(kept_[index], kept_.back());
    kept_.pop_back();
  }

  void make_room(std::size_t bytes) {
    while (!kept_.empty() && (kept_.size() >= documents_max || bytes_ + bytes > bytes_max_)) {
      const auto older = [](const Kept& a, const Kept& b) { return a.used < b.used; };
      drop(static_cast<std::size_t>(std::min_element(kept_.begin(), kept_.end(), older) - kept_.begin()));
    }
  }

  void forget_unused() {
    if (++questions_ % document_unused_max != 0) return;
    for (std::size_t i = kept_.size(); i-- > 0;)
      if (kept_[i].used + document_unused_max <= questions_) drop(i);
  }

  std::vector<Kept> kept_;
  std::size_t bytes_ = 0;
  std::size_t bytes_max_ = documents_bytes_max;
  std::uint64_t questions_ = 0;
  std::uint64_t parsed_ = 0;
};

thread_local Documents documents_of_thread;

}  // namespace

std::shared_ptr<const json::value> document_of(const Payload& payload) { return documents_of_thread.find(payload); }
void documents_of_decision_begin() { documents_of_thread.begin_decision(); }
void documents_of_decision_end() { documents_of_thread.end_decision(); }
std::uint64_t documents_parsed() { return documents_of_thread.parsed(); }

}  // namespace pawl::execute
