// TraceContext: where a job or a piece of work belongs in a distributed trace, as in W3C Trace Context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

struct TraceContext {
  std::uint64_t trace_high = 0;  // the trace's id, not all zero
  std::uint64_t trace_low = 0;
  std::uint64_t span = 0;  // of the caller, not zero
  std::uint8_t flags = 1;
  std::string state{};  // the header `tracestate`, as it came; empty: none
  friend bool operator==(const TraceContext&, const TraceContext&) = default;

  bool sampled() const { return (flags & 1) != 0; }
  // Whether somebody reports the spans of the job: then its work continues the span of its activity, not the caller's.
  // An entry of the state says so, because it must last as long as the job and go to the jobs that it starts.
  bool reported() const { return state.starts_with("pawl="); }
  bool has_caller() const { return !state.starts_with("pawl=root"); }
  void mark_reported(bool with_caller);
  std::string trace_text() const;  // 32 digits
  std::string traceparent() const;
  std::string text() const;  // the traceparent, and behind a space the state, if any: as a job keeps it
};

std::string span_text(std::uint64_t span);  // 16 digits

// None: it is no such context. Of a newer version, the part that this version knows. A state that is too long or has
// characters that no header may have is dropped, as the standard asks.
std::optional<TraceContext> read_trace(std::string_view traceparent, std::string_view state);
std::optional<TraceContext> read_trace(std::string_view text);  // as text() writes it

// The spans of a run: derived, so that whoever reports or continues one need not ask where it is.
std::uint64_t span_of_job(std::uint64_t run);
std::uint64_t span_of_activity(std::uint64_t run, std::uint32_t activity);
// Of a job whose caller had no trace.
TraceContext own_trace(std::uint64_t run);

}  // namespace pawl
