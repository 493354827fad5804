// The numbers of this store, by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::store::sqlite::limits {

inline constexpr std::chrono::milliseconds busy_wait = std::chrono::seconds(5);
inline constexpr std::uint32_t page_bytes = 2048;
inline constexpr std::size_t readers = 2;                 // connections that read beside the writer
inline constexpr std::size_t payload_shared_bytes = 64;    // a larger one that is an output of its bundle refers to it
inline constexpr std::size_t payload_in_row_bytes = 1024;  // a larger input is never in the row of its work
inline constexpr int value_bytes_max = 16 << 20;          // one stored value: a payload and its frame
inline constexpr std::size_t unpacked_bytes_max = 16 << 20;  // of a compressed payload; a larger one is damaged
inline constexpr std::size_t packed_per_job_bytes_max = 16 << 20;  // compressed in the commit that ends a job
inline constexpr std::size_t packed_row_bytes = 64;                // what a compressed one must save
inline constexpr std::size_t left_plain_max = 1'000;               // jobs with a payload that cannot be read
inline constexpr int pack_level = 3;                               // of zstd
inline constexpr int checkpoint_pages = 16'000;           // a longer log is copied into the database file
inline constexpr int checkpoint_tail_pages = 4'000;       // what a copy may leave for the writer's pause
inline constexpr int checkpoint_rounds_max = 3;           // copies beside the writer before it pauses
inline constexpr int checkpoint_pages_min = 64;           // on a disk that is nearly full
inline constexpr std::uint64_t log_share_of_disk = 4;     // at most a quarter of the free space
inline constexpr int disk_look_pages = 64;                // how much the log grows between two checks of the disk
inline constexpr std::size_t log_piece_bytes = 120 << 10;  // written with one call: SQLite takes less than 128 KB
inline constexpr std::uint64_t log_bytes_max = 1u << 30;  // while a reader keeps a transaction open
inline constexpr int log_warning_factor = 4;              // times the usual length: then it is reported
inline constexpr int log_unnamed_rounds = 3;  // then a log is reported although no process is seen to keep it
inline constexpr std::chrono::milliseconds log_retry_min{100};   // between two copies of a log that a reader keeps
inline constexpr std::chrono::milliseconds log_retry_max{1000};  // doubled each time up to this
inline constexpr std::chrono::milliseconds room_wait{500};       // a commit waits so long for a copy that makes room
inline constexpr std::chrono::milliseconds room_no_wait{2000};   // no waiting so long after a wait that failed
inline constexpr int cache_kib = 32 << 10;                       // of the writer
inline constexpr int reader_cache_kib = 8 << 10;                 // of each reader
inline constexpr std::size_t page_of_work_bytes = 8 << 20;       // then a page of work items is full
inline constexpr std::size_t freed_per_dequeue_max = 1'000;      // messages that became due; the next dequeue continues
inline constexpr int read_tries = 4;  // of a group, before the operation whose page cannot be read is refused
inline constexpr std::chrono::milliseconds read_retry_min{5};   // doubled at each try
inline constexpr std::size_t unreadable_per_group_max = 16;     // operations refused for it; with more the group waits
inline constexpr std::size_t few_rows = 2'000;                  // an index with fewer rows for a search is read first
inline constexpr std::int64_t unlisted_rows_max = 16'384;  // the newest rows: their claimed items are not listed
inline constexpr std::int64_t unlisted_rows_step = 1'024;  // looked at in one commit when they are no longer new
inline constexpr std::int64_t unlisted_rows_piece = 16;    // left out together, if one of them cannot be read
inline constexpr std::size_t row_hints = 16'384;                // rows of new activities that are remembered
inline constexpr std::size_t filters_per_commit = 8;             // of the ids that are taken, read from the file
inline constexpr std::size_t filter_rows_per_commit = 2'048;     // read to make one,
inline constexpr std::size_t filter_rows_per_commit_behind = 16'384;  // and while several are missing
inline constexpr std::size_t problems_max = 20;                 // lines of a verify() report
inline constexpr std::chrono::milliseconds owner_retry_min{1};  // doubled at each try
inline constexpr int owner_retries = 8;                         // after a report that the owner is gone
inline constexpr std::uint64_t disk_full_bytes = 64 << 10;      // less than the log's index may need
inline constexpr std::chrono::milliseconds hold_retry{2};  // between two tries for a file that another process holds
inline constexpr std::chrono::milliseconds migration_wait{1000};  // for an owner of an older version that is ending
inline constexpr std::chrono::milliseconds bell_look{2000};  // between two looks without a doorbell or a watch over it
inline constexpr std::chrono::milliseconds helper_retry{1000};      // between tries to create a doorbell or a watch
inline constexpr std::chrono::milliseconds ring_late_max{1000};     // then the owner looks for unreported commits
inline constexpr std::size_t commits_beyond_gap_max = 65'536;       // remembered while one is missing
inline constexpr std::chrono::milliseconds transaction_time{1000};  // of a worker: no one else writes meanwhile
inline constexpr int transaction_look_steps = 1000;  // of SQLite's machine, between two checks of the time
inline constexpr std::size_t socket_path_max = 107;  // sun_path less its terminating zero

}  // namespace pawl::store::sqlite::limits
