#include "cli/json_lines.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"

namespace pawl::cli {

namespace {
constexpr std::string_view blank = " \t\r\n";
}

void JsonLines::feed(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size() && !too_much_;) {
    const auto newline = bytes.find('\n', at);
    const auto end = newline == std::string_view::npos ? bytes.size() : newline + 1;
    line_.append(bytes.substr(at, end - at));
    at = end;
    if (newline != std::string_view::npos) take(std::exchange(line_, {}));
    if (line_.size() + value_.size() + broken_.size() > limits::payload_bytes_max)
      too_much_ = fmt::format("more than {} bytes for one value (payload_bytes_max)", limits::payload_bytes_max);
  }
}

void JsonLines::end() {
  if (!line_.empty()) take(std::exchange(line_, {}) + "\n");
  if (value_.empty() || why_broken_) return;
  why_broken_ = Error{ErrorCode::invalid, "not JSON: it was never finished"};
  broken_ = std::move(value_);
}

void JsonLines::take(std::string_view line) {
  if (!is_json()) {
    broken_.append(line);
    return;
  }
  while (!line.empty() && !too_much_) {
    if (value_.empty()) {
      const auto begin = line.find_first_not_of(blank);
      if (begin == std::string_view::npos) return;
      line.remove_prefix(begin);
    }
    const auto used = check_.take(line);
    if (!used) {
      why_broken_ = used.error();
      broken_ = std::move(value_);
      broken_.append(line);
      return;
    }
    value_.append(line.substr(0, *used));
    line.remove_prefix(*used);
    if (!check_.done()) return;
    complete();
  }
}

void JsonLines::complete() {
  check_.reset();
  if (last_) {
    ++earlier_count_;
    earlier_bytes_ += last_->size();
    if (earlier_count_ > limits::pending_answers_max)
      too_much_ = fmt::format("more than {} pending answers (pending_answers_max)", limits::pending_answers_max);
    else if (earlier_bytes_ > limits::pending_bytes_max)
      too_much_ = fmt::format("more than {} bytes of pending answers (pending_bytes_max)", limits::pending_bytes_max);
    else
      earlier_(std::move(*last_));
  }
  if (too_much_) return;
  const auto end = value_.find_last_not_of(blank);
  last_ = value_.substr(0, end + 1);
  value_.clear();
}

}  // namespace pawl::cli
