#include "runtime/token.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl::runtime {

namespace {

constexpr std::string_view prefix = "w-";
constexpr std::size_t shown_max = 40;
// A token fits a signed integer, so the mask leaves the highest bit unchanged.
constexpr std::uint64_t masked_bits = std::numeric_limits<std::uint64_t>::max() >> 1;

std::uint64_t mask_of(const core::Guid& store) { return (store.high ^ store.low) & masked_bits; }

// Small letters and no zeros before the first digit, as format() writes it.
bool is_as_written(std::string_view digits) {
  return (digits.size() == 1 || digits.front() != '0') &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Takes a number and the '-' after it, if it is not the last. None: the text is not in the form that format() writes.
template <class Number>
std::optional<Number> take(std::string_view& text, bool last) {
  Number number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
  if (parsed.ec != std::errc() || !is_as_written(text.substr(0, length))) return std::nullopt;
  text.remove_prefix(length);
  if (last) return text.empty() ? std::optional(number) : std::nullopt;
  if (text.empty() || text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  return number;
}

}  // namespace

std::string token_text(const WorkRun& run, const core::Guid& store) {
  return format("{}{:x}-{:x}-{:x}", prefix, run.ref.run.raw(), run.ref.activity.raw(),
                run.token.raw() ^ mask_of(store));
}

Result<WorkRun> parse_token(std::string_view text, const core::Guid& store) {
  const auto wrong = [&] {
    return Error{ErrorCode::invalid, format("\"{}\" is no work token; take the whole text that Work::token() gave",
                                            kept_text(text, shown_max))};
  };
  if (text.substr(0, prefix.size()) != prefix) return wrong();
  std::string_view rest = text.substr(prefix.size());
  const auto run = take<std::uint64_t>(rest, false);
  if (!run) return wrong();
  const auto activity = take<std::uint32_t>(rest, false);
  if (!activity) return wrong();
  const auto token = take<std::uint64_t>(rest, true);
  if (!token) return wrong();
  return WorkRun{WorkRef{RunId(*run), core::ActivitySeq(*activity)}, core::WorkToken(*token ^ mask_of(store))};
}

}  // namespace pawl::runtime
