#include "store/transfer/sums.h"

#include "base/format.h"
#include "base/siphash.h"
#include "store/transfer/fields.h"

namespace pawl::store::transfer {

namespace {

// Not a secret: everyone computes the same.
constexpr Bits128 sums_key{0x7061776c5f6d6f76ULL, 0x655f73756d735f31ULL};

Bits128 hash_of(std::string_view bytes) {
  SipHash hash(sums_key);
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i)
      word |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])} << (8 * i);
    hash.add(word);
    bytes.remove_prefix(8);
  }
  return hash.finish(bytes);
}

}  // namespace

std::string Sum::text() const { return format("{:016x}{:016x}", high, low); }

void Sums::add(const Record& record) {
  core::Encoder encoder;
  encoder(record);
  const std::string bytes = encoder.take();
  const Bits128 hash = hash_of(bytes);
  Sum& sum = sums_[record.index()];
  ++sum.records;
  sum.high += hash.high;
  sum.low += hash.low;
  bytes_ += bytes.size();
}

std::uint64_t Sums::records() const {
  std::uint64_t all = 0;
  for (const Sum& sum : sums_) all += sum.records;
  return all;
}

std::string Sums::differences(const Sums& other) const {
  std::string text;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    if (sums_[kind] == other.sums_[kind]) continue;
    text += format("{}{}: {} with checksum {}, and {} with {}", text.empty() ? "" : "; ", kind_names[kind],
                   sums_[kind].records, sums_[kind].text(), other.sums_[kind].records, other.sums_[kind].text());
  }
  return text;
}

}  // namespace pawl::store::transfer
