#include "store/redis/script.h"

#include <openssl/sha.h>

#include "base/format.h"
#include "store/redis/script_sources.h"

namespace pawl::store::redis {

Script::Script(std::string_view source, Does does) : source_(source), does_(does) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(source_.data()), source_.size(), digest);
  for (const unsigned char byte : digest) digest_ += format("{:02x}", byte);
}

// A function is named by its source, so another version of this program has another one. While a library is loaded it
// has none of the global names, so its definitions are made by the first call.
Script Script::of_function(std::string_view body) {
  const std::string define = format("local function define()\n{}return commit\nend\n", body);
  Script script(format("#!lua\n{}return define()(KEYS, ARGV)\n", define), Does::write);
  script.function_ = "pawl_" + script.digest_;
  script.library_ = format(
      "#!lua name={0}\nlocal commit\n{1}redis.register_function('{0}', function(keys, arguments)\n"
      "  commit = commit or define()\n  return commit(keys, arguments)\nend)\n",
      script.function_, define);
  return script;
}

const Script& lane_script() {
  static const Script script = Script::of_function(lane_source);
  return script;
}
const Script& catalogue_script() {
  static const Script script(catalogue_source, Script::Does::write);
  return script;
}
const Script& whole_script() {
  static const Script script(whole_source, Script::Does::read);
  return script;
}
const Script& items_script() {
  static const Script script(items_source, Script::Does::read);
  return script;
}
const Script& due_script() {
  static const Script script(due_source, Script::Does::read);
  return script;
}

}  // namespace pawl::store::redis
