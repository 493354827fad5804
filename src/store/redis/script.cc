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

const Script& lane_script() {
  static const Script script(lane_source, Script::Does::write);
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
