// Colours for people, plain text otherwise: off when the stream is not a terminal, when NO_COLOR is set, or when asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::cli {

enum class Ink { plain, dim, bold, red, green, yellow, blue, cyan };

// "1 job", "2 jobs".
std::string counted(std::uint64_t count, std::string_view noun);

class Paint {
 public:
  static Paint for_stdout(bool allowed = true);
  static Paint for_stderr(bool allowed = true);
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(Ink ink, std::string_view text) const;
  bool on() const { return on_; }

 private:
  bool on_;
};

}  // namespace pawl::cli
