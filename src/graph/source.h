// The position of a word of a graph: files, marks and excerpts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::graph {

// Line and column count from 1; columns count characters, not bytes. Line 0 means "the file as a
// whole".
struct Mark {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend bool operator==(const Mark&, const Mark&) = default;
};

// The files that one check read, by index. A Mark is only meaningful together with its Sources.
class Sources {
 public:
  struct File {
    std::string name;
    std::string text;
  };

  std::uint32_t add(std::string name, std::string text);
  const File& file(std::uint32_t index) const { return files_.at(index); }
  std::size_t count() const { return files_.size(); }
  // The text of one line without its line end; empty when there is no such line.
  std::string_view line(const Mark& mark) const;

 private:
  std::vector<File> files_;
};

// A byte offset that is not UTF-8, or npos when all of `text` is. Surrogates and overlong forms
// count as wrong.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace pawl::graph
