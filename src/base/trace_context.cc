#include "base/trace_context.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "base/random.h"

namespace pawl {

namespace {

constexpr std::size_t traceparent_bytes = 55;  // 00-<32>-<16>-<2>
constexpr std::size_t state_bytes_max = 512;

// Lower case digits only, as the standard asks.
std::optional<std::uint64_t> hex(std::string_view digits) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  const auto end = digits.data() + digits.size();
  return std::from_chars(digits.data(), end, value, 16).ptr == end ? std::optional(value) : std::nullopt;
}

bool is_state(std::string_view text) {
  return text.size() <= state_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::uint64_t id_of(std::uint64_t run, std::uint64_t salt) {
  const std::uint64_t id = Random::mix(Random::mix(run) + salt);
  return id == 0 ? 1 : id;
}

constexpr std::uint64_t salt_job = 0x6a6f62;        // an activity's salt is its number, which is smaller than 2^32
constexpr std::uint64_t salt_trace = 0x7472616365;  // larger
constexpr std::uint64_t beyond_activities = std::uint64_t{1} << 32;

}  // namespace

std::string TraceContext::trace_text() const { return format("{:016x}{:016x}", trace_high, trace_low); }
std::string TraceContext::traceparent() const {
  return format("00-{}-{}-{:02x}", trace_text(), span_text(span), static_cast<unsigned>(flags));
}
std::string TraceContext::text() const { return state.empty() ? traceparent() : traceparent() + " " + state; }

void TraceContext::mark_reported(bool with_caller) {
  if (reported()) return;
  const std::string own = with_caller ? "pawl=job" : "pawl=root";
  const bool fits = own.size() + 1 + state.size() <= state_bytes_max;
  state = state.empty() || !fits ? own : own + "," + state;
}

std::string span_text(std::uint64_t span) { return format("{:016x}", span); }

std::optional<TraceContext> read_trace(std::string_view text, std::string_view state) {
  if (text.size() < traceparent_bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const auto version = hex(text.substr(0, 2));
  const auto high = hex(text.substr(3, 16));
  const auto low = hex(text.substr(19, 16));
  const auto span = hex(text.substr(36, 16));
  const auto flags = hex(text.substr(53, 2));
  if (!version || !high || !low || !span || !flags) return std::nullopt;
  const bool longer = text.size() > traceparent_bytes;
  if (*version == 0xff || (longer && (*version == 0 || text[traceparent_bytes] != '-'))) return std::nullopt;
  if ((*high == 0 && *low == 0) || *span == 0) return std::nullopt;
  return TraceContext{*high, *low, *span, static_cast<std::uint8_t>(*flags),
                      is_state(state) ? std::string(state) : std::string()};
}

std::optional<TraceContext> read_trace(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return read_trace(text, {});
  return read_trace(text.substr(0, space), text.substr(space + 1));
}

std::uint64_t span_of_job(std::uint64_t run) { return id_of(run, beyond_activities + salt_job); }
std::uint64_t span_of_activity(std::uint64_t run, std::uint32_t activity) { return id_of(run, activity); }
TraceContext own_trace(std::uint64_t run) {
  return {id_of(run, beyond_activities + salt_trace), id_of(run, 2 * beyond_activities + salt_trace), span_of_job(run)};
}

}  // namespace pawl
