#include "store/cursor.h"

#include <optional>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"

namespace pawl::store {

namespace {

// Text: the version, the letter, then 6 bits per character: three bytes of checksum, and for each lane the distance
// from the previous lane and the place, in groups of 7 bits, lowest first.
constexpr char version = '1';
constexpr std::string_view alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_~";
constexpr std::size_t check_bytes = 3;
constexpr std::size_t text_bytes_max = std::size_t{limits::lanes_max} * 20;  // a lane takes at most 13 bytes

void put_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

std::string check_of(char of, std::string_view bytes) {
  std::uint64_t sum = Random::mix(static_cast<unsigned char>(of));
  for (const char c : bytes) sum = Random::mix(sum ^ static_cast<unsigned char>(c));
  std::string check;
  for (std::size_t i = 0; i < check_bytes; ++i) check.push_back(static_cast<char>(sum >> (8 * i)));
  return check;
}

std::string to_letters(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text.push_back(alphabet[bits >> (count - 6) & 0x3f]);
  }
  if (count > 0) text.push_back(alphabet[bits << (6 - count) & 0x3f]);
  return text;
}

// None: a letter is outside the alphabet.
std::optional<std::string> from_letters(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto value = alphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  return bytes;
}

std::string_view name_of(char of) {
  switch (static_cast<Cursor::Of>(of)) {
    case Cursor::Of::announcements:
      return "announcements";
    case Cursor::Of::oldest_jobs:
      return "a list of jobs, the oldest first";
    case Cursor::Of::newest_jobs:
      return "a list of jobs, the newest first";
  }
  return "";
}

Error malformed(std::string_view why) {
  return {ErrorCode::invalid,
          format("the place to go on behind (after) is malformed: {}; it is a text that an earlier page "
                 "gave, whole and unchanged",
                 why)};
}

}  // namespace

std::uint64_t Cursor::place(core::LaneId lane) const {
  const auto found = places_.find(lane);
  return found == places_.end() ? 0 : found->second;
}

std::string Cursor::text() const {
  std::string bytes;
  std::uint32_t before = 0;
  for (const auto& [lane, place] : places_) {
    put_number(bytes, lane.raw() - before);
    put_number(bytes, place);
    before = lane.raw();
  }
  const char of = static_cast<char>(of_);
  return std::string{version, of} + to_letters(check_of(of, bytes) + bytes);
}

Result<Cursor> Cursor::parse(std::string_view text, Of of) {
  if (text.size() < 2 || text.size() > text_bytes_max) return malformed("it is too short or too long");
  if (text[0] != version) return malformed(format("its version is not {}", version));
  if (name_of(text[1]).empty()) return malformed("nobody knows what it is a place in");
  if (text[1] != static_cast<char>(of))
    return Error{ErrorCode::invalid, format("the place to go on behind (after) is one in {}, and this is {}",
                                            name_of(text[1]), name_of(static_cast<char>(of)))};
  const auto all = from_letters(text.substr(2));
  if (!all || all->size() < check_bytes) return malformed("it has other letters, or too few");
  std::string_view bytes = std::string_view(*all).substr(check_bytes);
  if (check_of(text[1], bytes) != all->substr(0, check_bytes)) return malformed("a part of it is missing or changed");
  Cursor cursor(of);
  std::uint64_t lane = 0;
  while (!bytes.empty()) {
    const auto further = take_number(bytes);
    const auto place = take_number(bytes);
    if (!further || !place || *further == 0 || *further > limits::lanes_max - lane)
      return malformed("its places make no sense");
    lane += *further;
    cursor.set(core::LaneId(static_cast<std::uint32_t>(lane)), *place);
  }
  return cursor;
}

}  // namespace pawl::store
