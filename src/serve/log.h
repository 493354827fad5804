// Log: one line for each thing worth knowing, as JSON or for people. Secrets never come here: what is logged of a
// request is its method, its path without the query, and who it was about.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::serve {

class Log {
 public:
  enum class Form : std::uint8_t { text, json };
  enum class Level : std::uint8_t { debug, info, warn, error };
  using Facts = std::vector<std::pair<std::string_view, std::string>>;

  // `write` gets whole lines, one at a time.
  Log(Form form, Level least, std::function<void(const std::string&)> write)
      : form_(form), least_(least), write_(std::move(write)) {}

  bool wants(Level level) const { return level >= least_; }
  void say(Level level, std::string_view message, const Facts& facts = {});

 private:
  const Form form_;
  const Level least_;
  const std::function<void(const std::string&)> write_;
  std::mutex mutex_;
};

std::string_view name_of(Log::Level level);

}  // namespace pawl::serve
