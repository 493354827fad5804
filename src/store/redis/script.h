// Script: a Lua program that the server runs as one step. The sources are in scripts/; the build puts them into the
// program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::store::redis {

class Script {
 public:
  enum class Does : std::uint8_t { write, read };
  Script(std::string_view source, Does does);
  // `body` defines a local function `commit` of keys and arguments.
  static Script of_function(std::string_view body);

  const std::string& source() const { return source_; }
  const std::string& digest() const { return digest_; }  // the server's name for it
  // The same as a function of the server: its definitions are executed once, not for every call. Empty: it is none.
  const std::string& function() const { return function_; }
  const std::string& library() const { return library_; }  // its source
  bool reads() const { return does_ == Does::read; }

 private:
  std::string source_;
  std::string digest_;
  std::string function_;
  std::string library_;
  Does does_;
};

const Script& lane_script();       // a group of operations of one lane
const Script& catalogue_script();  // of no lane
const Script& whole_script();      // reads a job or a mailbox
const Script& items_script();      // reads work items
const Script& due_script();        // reads what is due

}  // namespace pawl::store::redis
