#include "base/shown_store.h"

#include <string_view>

namespace pawl {

std::string shown_store(std::string store) {
  std::string text = std::move(store);
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const std::size_t begin = scheme + 3;
  const std::size_t at = text.rfind('@', text.find_first_of("?#", begin));  // a password may contain a slash
  const std::size_t colon = text.find(':', begin);
  if (at != std::string::npos && at > begin && colon < at) text.erase(colon, at - colon);
  static constexpr std::string_view word = "password=";  // sslpassword= too
  for (std::size_t found = text.find(word); found != std::string::npos; found = text.find(word, found + word.size())) {
    const std::size_t value = found + word.size();
    text.replace(value, text.find_first_of("&#", value) - value, "...");
  }
  return text;
}

}  // namespace pawl
