// JsonLines: what a command printed, as JSON values. They stand one per line; one value may also span several lines.
#pragma once

#include <boost/json/stream_parser.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::cli {

class JsonLines {
 public:
  // `earlier` is called with every value as soon as another one follows it.
  explicit JsonLines(std::function<void(std::string)> earlier) : earlier_(std::move(earlier)) {}

  void hear(std::string_view bytes);
  void end();  // no more bytes come

  bool is_json() const { return broken_.empty(); }
  const std::optional<std::string>& last() const { return last_; }
  const std::string& text() const { return broken_; }  // what was printed, from the first that is no JSON
  bool too_large() const { return too_large_; }

 private:
  void take(std::string_view line);
  void complete();

  const std::function<void(std::string)> earlier_;
  boost::json::stream_parser parser_;
  std::string line_;                 // begun and not ended
  std::string value_;                // the text of the value that is being read
  std::string broken_;
  std::optional<std::string> last_;
  bool too_large_ = false;
};

}  // namespace pawl::cli
