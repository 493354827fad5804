// The limits of the PostgreSQL store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::store::postgres::limits {

inline constexpr std::size_t connections = 4;  // that commit at once: more are slower on few cores
inline constexpr std::size_t readers = 2;      // that read beside them
inline constexpr std::chrono::seconds connect_wait{10};
// A node that stops in the middle of a transaction keeps others from its lanes for no longer than this.
inline constexpr std::chrono::seconds transaction_idle_max{5};
inline constexpr std::chrono::seconds statement_wait{30};
inline constexpr std::chrono::seconds lock_wait{10};
inline constexpr std::chrono::seconds keepalive_idle{5};
inline constexpr std::chrono::seconds dead_peer_after{15};       // then a connection that answers nothing is given up
inline constexpr std::chrono::seconds ring_late_max{30};         // a ring that was lost is noticed within it
inline constexpr std::chrono::milliseconds reconnect_first{50};  // between two tries, doubled each time
inline constexpr std::chrono::milliseconds reconnect_max{5000};
inline constexpr int stale_tries = 8;    // of a group whose rows others moved under it; then retry_later
inline constexpr int pooler_rounds = 3;  // in which a pooler is asked whether it keeps a session
inline constexpr std::size_t schema_name_bytes_max = 40;      // channel names are made of it, and have 63 bytes
inline constexpr std::size_t notify_bytes_max = 7900;         // PostgreSQL takes 7,999
inline constexpr std::size_t jobs_per_read = 64;              // whole jobs in one question
inline constexpr std::size_t page_of_work_bytes = 16u << 20;  // of inputs in one page of work
inline constexpr std::size_t work_rows_per_read = 256;        // with their inputs
inline constexpr std::int64_t freed_per_dequeue_max = 256;    // claims that ran out, made free by one dequeue

inline constexpr std::size_t transaction_sessions_kept = 4;  // of workers, for the next ones

}  // namespace pawl::store::postgres::limits
