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

  const std::string& source() const { return source_; }
  const std::string& digest() const { return digest_; }  // the server's name for it
  bool reads() const { return does_ == Does::read; }

 private:
  std::string source_;
  std::string digest_;
  Does does_;
};

const Script& lane_script();       // a group of operations of one lane
const Script& catalogue_script();  // of no lane
const Script& whole_script();      // reads a job or a mailbox
const Script& items_script();      // reads work items
const Script& due_script();        // reads what is due

}  // namespace pawl::store::redis
