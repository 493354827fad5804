#include "cli/json_lines.h"

#include <boost/json.hpp>

#include "base/limits.h"

namespace pawl::cli {

namespace {
constexpr std::string_view blank = " \t\r\n";
}

void JsonLines::hear(std::string_view bytes) {
  if (too_large_) return;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto newline = bytes.find('\n', at);
    const auto end = newline == std::string_view::npos ? bytes.size() : newline + 1;
    line_.append(bytes.substr(at, end - at));
    at = end;
    if (newline != std::string_view::npos) take(std::exchange(line_, {}));
    if (line_.size() + value_.size() + broken_.size() > limits::payload_bytes_max) too_large_ = true;
    if (too_large_) return;
  }
}

void JsonLines::end() {
  if (!line_.empty()) take(std::exchange(line_, {}) + "\n");
  if (!value_.empty()) broken_ = std::move(value_);  // it was never finished
}

void JsonLines::take(std::string_view line) {
  if (!is_json()) {
    broken_.append(line);
    return;
  }
  while (!line.empty()) {
    if (value_.empty()) {
      const auto begin = line.find_first_not_of(blank);
      if (begin == std::string_view::npos) return;
      line.remove_prefix(begin);
    }
    boost::json::error_code error;
    const std::size_t used = parser_.write_some(line.data(), line.size(), error);
    if (error) {
      broken_ = std::move(value_);
      broken_.append(line);
      return;
    }
    value_.append(line.substr(0, used));
    line.remove_prefix(used);
    if (!parser_.done()) return;
    complete();
  }
}

void JsonLines::complete() {
  parser_.reset();
  if (last_) earlier_(std::move(*last_));
  const auto end = value_.find_last_not_of(blank);
  last_ = value_.substr(0, end + 1);
  value_.clear();
}

}  // namespace pawl::cli
