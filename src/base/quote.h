// A text as a JSON string, for the few places that write JSON for a program without building a document. Bytes that are
// not UTF-8 become U+FFFD: JSON is UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl {

inline std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append(format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c))));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

}  // namespace pawl
