// The limits of the Redis store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::store::redis::limits {

inline constexpr std::uint32_t lanes_of_one_server = 4;   // of a new pool; a cluster spreads more of them
inline constexpr std::size_t connections = 16;           // calls at the same time: mostly one for each lane of a pool
inline constexpr std::size_t connections_idle_max = 24;  // kept open for each node
inline constexpr std::chrono::milliseconds connect_timeout{3000};
inline constexpr std::chrono::milliseconds reply_timeout{30'000};  // then the outcome is unknown
inline constexpr std::chrono::milliseconds redirect_pause{20};     // before a command for a moving slot is sent again
inline constexpr int redirects_max = 100;                          // then the call fails: retry_later
inline constexpr std::chrono::milliseconds sentinel_timeout{500};  // then the next sentinel is asked
inline constexpr std::chrono::seconds bell_ping{2};                // a silent connection is pinged after this time
inline constexpr std::chrono::seconds bell_late_max{5};            // missed notifications are noticed within this time
inline constexpr std::chrono::milliseconds bell_retry{200};        // between two attempts to listen again
inline constexpr std::size_t fresh_runs_min = 1;                   // declared beyond what a group needs,
inline constexpr std::size_t fresh_runs_max = 1024;                // more after each wrong guess
inline constexpr int guesses_max = 200;                            // of one group; then the call fails: retry_later
inline constexpr std::size_t names_remembered_max = 10'000;        // of jobs and mailboxes, per lane: hints
inline constexpr std::size_t page_rows = 512;                      // read at once when rows are searched

}  // namespace pawl::store::redis::limits
