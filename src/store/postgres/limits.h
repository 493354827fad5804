// The limits of the PostgreSQL store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::store::postgres::limits {

inline constexpr std::size_t connections = 4;  // for concurrent commits: more are slower on few cores
inline constexpr std::size_t readers = 2;      // for reads beside the commits
inline constexpr std::chrono::seconds connect_wait{10};
// A node that stops in the middle of a transaction blocks its lanes for other nodes no longer than this.
inline constexpr std::chrono::seconds transaction_idle_max{5};
inline constexpr std::chrono::seconds statement_wait{30};
inline constexpr std::chrono::seconds lock_wait{10};
inline constexpr std::chrono::seconds keepalive_idle{5};
inline constexpr std::chrono::seconds dead_peer_after{15};       // then a connection without answers is closed
inline constexpr std::chrono::seconds ring_late_max{30};         // a lost notification is noticed within this time
inline constexpr std::chrono::milliseconds reconnect_first{50};  // between two tries, doubled each time
inline constexpr std::chrono::milliseconds reconnect_max{5000};
inline constexpr int stale_tries = 8;  // for a group whose rows others changed; then retry_later
inline constexpr std::uint32_t numbers_doubt_max =
    255;                                 // groups that read a lane's numbers after they were wrong often
inline constexpr int pooler_rounds = 3;  // to find out whether a pooler keeps the session
inline constexpr std::size_t schema_name_bytes_max = 40;      // channel names contain it, and are limited to 63 bytes
inline constexpr std::size_t notify_bytes_max = 7900;         // PostgreSQL accepts 7,999
inline constexpr std::size_t jobs_per_read = 64;              // whole jobs in one query
inline constexpr std::size_t page_of_work_bytes = 16u << 20;  // of inputs in one page of work
inline constexpr std::size_t work_rows_per_read = 256;        // with their inputs
inline constexpr std::int64_t freed_per_dequeue_max = 256;    // expired claims that one dequeue frees

inline constexpr std::size_t transaction_sessions_kept = 4;  // idle sessions of workers, kept for the next ones

}  // namespace pawl::store::postgres::limits
