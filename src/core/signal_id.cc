#include "core/signal_id.h"

#include "base/siphash.h"

namespace pawl::core {

namespace {

// The length, then the bytes in words, the last one padded with zeros: two different lists of texts give different
// words.
void add(SipHash& hash, std::string_view text) {
  hash.add(text.size());
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8 && at + i < text.size(); ++i)
      word |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    hash.add(word);
  }
}

}  // namespace

// Stored identity: never change this hash.
Guid signal_guid(const MailboxKey& to, std::string_view id) {
  SipHash hash(Bits128{0x7061776c'7369676eULL, 0x616c2d69'64000001ULL});
  add(hash, to.name_space.raw());
  add(hash, to.topic.raw());
  add(hash, to.key);
  add(hash, id);
  const Bits128 made = hash.finish();
  return Guid{made.high, made.low};
}

}  // namespace pawl::core
