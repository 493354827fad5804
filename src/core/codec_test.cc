#include "core/codec.h"

#include <gtest/gtest.h>

#include <set>

#include "base/format.h"
#include "core/random_bundle.h"

namespace pawl::core {

namespace {

TEST(codec, random_bundles_come_back_as_they_were) {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Bundle bundle = RandomBundle(seed).bundle();
    for (const Write& write : bundle.writes) kinds.insert(write.index());
    const auto decoded = decode_bundle(encode(bundle));
    ASSERT_TRUE(decoded) << "seed " << seed;
    ASSERT_EQ(*decoded, bundle) << "seed " << seed;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Write>) << "a write kind never occurred";
}

TEST(codec, every_kind_of_message_comes_back_as_it_was) {
  for (std::uint64_t kind = 0; kind < std::variant_size_v<Body>; ++kind)
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const Body body = RandomBundle(seed).body(kind);
      ASSERT_EQ(body.index(), kind);
      const auto decoded = decode_body(encode(body));
      ASSERT_TRUE(decoded) << "kind " << kind << " seed " << seed;
      ASSERT_EQ(*decoded, body) << "kind " << kind << " seed " << seed;
    }
}

TEST(codec, envelopes_come_back_as_they_were) {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Envelope envelope = RandomBundle(seed).envelope();
    kinds.insert(envelope.to.index());
    const auto decoded = decode_envelope(encode(envelope));
    ASSERT_TRUE(decoded) << "seed " << seed;
    ASSERT_EQ(*decoded, envelope) << "seed " << seed;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Target>) << "a kind of target never occurred";
}

TEST(codec, equal_values_have_equal_bytes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    EXPECT_EQ(encode(RandomBundle(seed).bundle()), encode(RandomBundle(seed).bundle()));
}

TEST(codec, a_truncated_bundle_is_corrupt_wherever_it_ends) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string bytes = encode(RandomBundle(seed).bundle());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_bundle(std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(decoded) << "seed " << seed << " cut at " << size;
      ASSERT_EQ(decoded.error().code, ErrorCode::corrupt);
    }
  }
}

TEST(codec, bytes_left_over_are_corrupt) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_FALSE(decode_bundle(encode(RandomBundle(seed).bundle()) + '\0'));
    EXPECT_FALSE(decode_body(encode(RandomBundle(seed).body(seed % std::variant_size_v<Body>)) + '\0'));
    EXPECT_FALSE(decode_envelope(encode(RandomBundle(seed).envelope()) + '\0'));
  }
}

TEST(codec, a_flipped_bit_is_corrupt_or_another_value_but_never_the_same_one) {
  // No checksum here: stores have their own. The test requires that nothing crashes and that no two byte strings of one
  // length decode to the same bundle.
  std::size_t corrupt = 0;
  std::size_t other = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Bundle bundle = RandomBundle(seed).bundle();
    const std::string bytes = encode(bundle);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto decoded = decode_bundle(flipped);
      if (!decoded) {
        ASSERT_EQ(decoded.error().code, ErrorCode::corrupt);
        ++corrupt;
      } else {
        ASSERT_FALSE(*decoded == bundle) << "seed " << seed << " bit " << bit;
        ++other;
      }
    }
  }
  EXPECT_GT(corrupt, 1000u);
  EXPECT_GT(other, 1000u);
}

TEST(codec, random_bytes_never_crash) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(60), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(random.one_in(2) ? 256 : 12));
    if (const auto bundle = decode_bundle(bytes)) {
      EXPECT_TRUE(decode_bundle(encode(*bundle)));
    }
    if (const auto body = decode_body(bytes)) {
      EXPECT_TRUE(decode_body(encode(*body)));
    }
    if (const auto envelope = decode_envelope(bytes)) {
      EXPECT_TRUE(decode_envelope(encode(*envelope)));
    }
  }
}

// Bytes that no encoder writes.
struct Impossible {
  std::string name;
  std::string bytes;
};
class ImpossibleBodies : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleBodies, are_corrupt) {
  const auto decoded = decode_body(GetParam().bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
}

INSTANTIATE_TEST_SUITE_P(
    codec, ImpossibleBodies,
    testing::Values(Impossible{"nothing", ""}, Impossible{"unknown_kind", std::string("\x15\x00", 2)},
                    Impossible{"huge_kind", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
                    Impossible{"length_beyond_the_end", std::string("\x00\x05"
                                                                    "abcd",
                                                                    6)},
                    Impossible{"length_of_2_to_the_63", std::string("\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10)},
                    Impossible{"number_of_11_bytes",
                               std::string("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12)},
                    Impossible{"number_of_65_bits", std::string("\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11)},
                    Impossible{"number_with_a_needless_byte", std::string("\x00\x80\x00", 3)},
                    Impossible{"unknown_reply_status", std::string("\x02\x00\x04\x00\x00\x00", 6)},
                    Impossible{"activity_of_33_bits", std::string("\x02\x80\x80\x80\x80\x10\x00\x00\x00\x00", 10)},
                    Impossible{"unknown_timer", std::string("\x0c\x01\x03", 3)},
                    Impossible{"arrival_that_is_half_skipped", std::string("\x0e\x00\x00\x00\x00\x02", 6)},
                    Impossible{"address_that_is_none", std::string("\x01\x00\x02,x\x00\x00", 7)}),
    [](const auto& one) { return one.param.name; });

TEST(codec, a_ledger_with_impossible_digits_is_corrupt) {
  Bundle bundle;
  bundle.writes = {
      PutRecord{std::nullopt, MessageRecord{Guid{1, 1}, ActivitySeq(0), *ledger::MessageLedger::decode(1)}}};
  std::string bytes = encode(bundle);
  ASSERT_TRUE(bytes.ends_with(std::string("\x01\x00", 2)));  // the ordinal, and an empty output
  bytes[bytes.size() - 2] = '\x00';                          // an ordinal of 0
  EXPECT_FALSE(decode_bundle(bytes));
}

TEST(codec, a_count_of_many_writes_without_their_bytes_stops_at_the_first_missing_one) {
  std::string bytes = encode(Bundle{});
  ASSERT_EQ(bytes.back(), '\x00');
  bytes.pop_back();
  bytes.append("\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_FALSE(decode_bundle(bytes));
}

}  // namespace

}  // namespace pawl::core
