// Files that are part of the binary: the API's document and the page.
#pragma once

#include <span>
#include <string_view>

namespace pawl::serve {

struct EmbeddedFile {
  std::string_view name;  // openapi.json, index.html, ...
  std::string_view bytes;
};
std::span<const EmbeddedFile> embedded_files();
// Empty: there is no such file.
std::string_view embedded(std::string_view name);

}  // namespace pawl::serve
