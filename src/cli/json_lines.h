// JsonLines: the output of a command, as JSON values. One value per line; a value may also span several lines. Bounded
// by what one attempt of a worker may send (base/limits.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mapping/json_parse.h"

namespace pawl::cli {

class JsonLines {
 public:
  // `earlier` is called with every value as soon as another one follows it.
  explicit JsonLines(std::function<void(std::string)> earlier) : earlier_(std::move(earlier)) {}

  void feed(std::string_view bytes);
  void end();  // no more bytes come

  bool is_json() const { return !why_broken_; }
  // The reason: "not JSON: ...".
  const std::optional<Error>& why_broken() const { return why_broken_; }
  const std::optional<std::string>& last() const { return last_; }
  const std::string& text() const { return broken_; }  // the output from the first text that is not JSON
  // The limit that was exceeded: no more output is taken.
  const std::optional<std::string>& too_much() const { return too_much_; }

 private:
  void take(std::string_view line);
  void complete();

  const std::function<void(std::string)> earlier_;
  mapping::JsonCheck check_;
  std::string line_;   // not ended yet
  std::string value_;  // the text of the value that is being read
  std::string broken_;
  std::optional<Error> why_broken_;
  std::optional<std::string> last_;
  std::size_t earlier_count_ = 0;
  std::size_t earlier_bytes_ = 0;
  std::optional<std::string> too_much_;
};

}  // namespace pawl::cli
