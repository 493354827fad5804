// A named limit for everything that could grow without bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::limits {

inline constexpr std::size_t name_bytes_max = 200;
inline constexpr std::size_t payload_bytes_max = 4u << 20;  // input or output of one activity
inline constexpr std::size_t reason_bytes_max = 4u << 10;   // why a job failed or was parked
inline constexpr std::size_t app_bytes_max = 4u << 20;      // one version of an app, as it was deployed
inline constexpr std::size_t failure_bytes_max = 1u << 10;  // what is kept of a failed attempt's error
inline constexpr std::size_t attempts_kept = 20;            // failed attempts of an activity that are kept for people
inline constexpr std::size_t attempt_bytes_max = 300;       // of the error of each
inline constexpr std::uint32_t graph_activities_max = 20'000;
inline constexpr std::uint32_t reentries_max = 10;            // then the job is parked, not tried forever
inline constexpr std::uint32_t reentries_in_groups_max = 2;   // from then on a suspect is entered alone
inline constexpr std::chrono::seconds suspect_alone_max{10};  // a suspect attempt that runs this long delays no other
inline constexpr std::uint32_t attempts_max = 1'000'000;      // attempts of a retry policy
inline constexpr std::int32_t priority_max = 1'000'000;
inline constexpr std::chrono::hours duration_max{24 * 365 * 100};
inline constexpr std::size_t paused_topics_max = 4096;
inline constexpr std::uint32_t redeliveries_ceiling = 99'999'999;  // entries of a message, over all redrives of its job
inline constexpr std::uint32_t lanes_per_pool_max = 4096;
// On a server that many processes share: how long a lane stays owned without a renewal, and how many lanes there are to
// share.
inline constexpr std::chrono::seconds server_lease{10};
inline constexpr std::uint32_t server_lanes = 16;
inline constexpr std::size_t engine_topics_max = 1024;  // that an engine reports to serve
inline constexpr std::uint32_t lanes_max = 65'535;      // the lane part of a run id has 16 bits
inline constexpr std::size_t bundles_per_group_max = 1024;
inline constexpr std::size_t bundles_per_turn_max = 256;  // decided before a local store gets them
inline constexpr std::size_t messages_per_bundle_max = 16'384;
inline constexpr std::size_t steps_per_bundle_max = 64;     // that a job takes by itself before other jobs get a turn,
inline constexpr std::size_t steps_beside_others_max = 16;  // and the same while there are other jobs,
inline constexpr std::chrono::milliseconds beside_others_for{100};  // which are remembered for this long;
inline constexpr int rests_per_commit = 3;                // then it rests for three times the duration of a commit,
inline constexpr std::chrono::milliseconds rest_max{20};  // but no longer than this
inline constexpr std::size_t hot_jobs_max = 100'000;      // jobs beyond this number leave memory
// A job that only waits leaves memory at once, except these: it is worth more to have them at hand.
inline constexpr std::chrono::seconds short_wait_max{1};     // until its next timer
inline constexpr std::size_t light_job_bytes = 16u << 10;    // a larger job is expensive to read again
inline constexpr std::size_t submits_waiting_max = 65'536;
inline constexpr std::size_t start_many_at_once_max = 4096;  // of one start_many(), on their way to the store
inline constexpr std::size_t ends_watched_max = 1'000'000;   // callbacks for the ends of jobs
inline constexpr std::size_t jobs_just_begun_max = 1'024;    // whose callers wait for the end without a read before
// Bytes of payloads and their overhead, in one process. Each of these lets one through, whatever its size.
inline constexpr std::size_t bytes_waiting_max = 48u << 20;  // requests until they are committed; then callers wait
inline constexpr std::size_t hot_job_bytes_max = 48u << 20;  // of idle jobs: the least recently used leave memory
inline constexpr std::size_t worker_queue_bytes_max = 16u << 20;  // inputs of work claimed for local workers
inline constexpr std::size_t group_bytes_max = 16u << 20;         // of the bundles that are committed together
inline constexpr std::size_t light_request_bytes = 4u << 10;      // a smaller request never waits for bytes
inline constexpr std::chrono::seconds stop_without_store_max{2};  // then stop() leaves the rest to the next start
inline constexpr std::uint64_t log_bytes_ceiling = std::uint64_t{1} << 40;  // of RuntimeOptions::log_bytes_max
inline constexpr std::chrono::seconds problem_window{10};    // the same problem is reported once in this time,
inline constexpr std::size_t problems_per_window_max = 200;  // and at most this many different ones
inline constexpr std::uint32_t worker_threads_max = 1024;
inline constexpr std::size_t hung_threads_max = 64;     // taken by workers that do not return; each was replaced
inline constexpr std::chrono::minutes probe_within{1};  // after that a probe counts as not returning
inline constexpr std::size_t worker_queue_max = 65'536;
inline constexpr int transaction_share_of_lease = 2;  // a worker's transaction on a server lasts at most half a lease
inline constexpr std::chrono::seconds transaction_begin_wait{10};  // of a worker; then its work is given back
inline constexpr std::size_t sql_rows_max = 100'000;               // rows of one statement of a worker's transaction,
inline constexpr std::size_t sql_bytes_max = 64u << 20;            // and their size
inline constexpr std::size_t pending_answers_max = 10'000;   // pending replies of one attempt before its last reply
inline constexpr std::size_t pending_bytes_max = 16u << 20;  // and their total size
inline constexpr std::size_t early_signals_per_mailbox_max = 10'000;         // not taken by a hook yet
inline constexpr std::size_t early_signal_bytes_per_mailbox_max = 1u << 30;  // their data, and a few bytes each
inline constexpr std::chrono::hours early_signal_keep{24};           // then a signal that no hook has taken is deleted
inline constexpr std::chrono::hours signal_id_keep{24};              // a signal that is repeated within it counts once,
inline constexpr std::uint64_t signal_ids_per_lane_max = 1'000'000;  // unless so many others came to its lane meanwhile
inline constexpr int timer_holds_max = 5;  // how often a hook's timer waits for its unserved registration
inline constexpr std::size_t mailbox_page_messages = 256;    // served in one commit of a mailbox
inline constexpr std::size_t mailbox_page_bytes = 8u << 20;  // and read for it, beyond the first message
inline constexpr std::size_t mailbox_inbox_max = 100'000;    // messages of it that a list of kept signals looks at
inline constexpr std::size_t label_bytes_max = 512;          // of the text by which a job is found or counted
inline constexpr std::size_t signal_page_jobs = 100;         // jobs that one commit of a signal to all reaches
inline constexpr std::size_t signal_page_bytes = 16u << 20;  // and the size of these messages
inline constexpr std::size_t recovery_page_rows = 4096;
inline constexpr std::size_t outbox_page_rows = 1024;  // for each target lane
inline constexpr std::size_t start_keys_per_drop = 1000;
inline constexpr std::chrono::seconds clock_set_back_min{1};  // of the machine's clock; a smaller step is not reported
inline constexpr std::uint32_t last_turns_max = 32;           // of a job, once its engine is stopping
inline constexpr std::size_t reads_per_batch_max = 512;       // sent to a remote store in one call
inline constexpr std::size_t reads_out_max = 4096;            // without an answer yet; beyond this no new reads begin
inline constexpr std::size_t read_answers_bytes = 8u << 20;   // of the jobs in the answers to one call, plus one job
inline constexpr std::size_t looks_per_turn = 256;            // rows of a scan, or jobs; then commands get a turn
inline constexpr std::size_t changed_runs_max = 128;  // named to the owner; beyond this it looks through all inboxes
inline constexpr std::chrono::seconds reads_fail_silently_max{1};  // then it is reported that nothing can be read
inline constexpr std::size_t damaged_per_page_max = 100;
inline constexpr std::size_t damaged_named_max = 10'000;        // entities reported as damaged, each once
inline constexpr std::size_t due_page_rows = 1024;              // of what is due by the clock, per read
inline constexpr std::size_t due_per_turn_max = 256;            // of it served in one turn, over all lanes
inline constexpr std::size_t due_entries_max = 16'384;          // of it in memory, over all lanes of a pool,
inline constexpr std::size_t due_entries_of_lane_min = 4096;    // but of each lane at least as many
inline constexpr std::size_t due_reminders_max = 100'000;       // and second times of one item
inline constexpr std::size_t due_at_hand_max = 16'384;          // timers that have their turn before later replies
inline constexpr std::chrono::milliseconds ahead_at_least{500};  // jobs are read so long before their timers are due,
inline constexpr std::size_t ahead_per_turn_max = 64;            // this many in one turn
inline constexpr std::size_t retention_batch_jobs = 100;        // removed in one commit by the rules of retention,
inline constexpr std::chrono::milliseconds retention_rest{20};  // then it rests;
inline constexpr std::size_t retention_page_rows = 1000;        // ended jobs that it reads at once
inline constexpr std::chrono::seconds retention_settles{1};     // before a process looks at the rules
inline constexpr std::chrono::minutes retention_look{1};        // between two passes,
inline constexpr std::chrono::hours retention_look_without_rules{1};   // unless it is told that there are rules
inline constexpr std::size_t retention_whole_pass_every = 60;          // the others end at the first young job
inline constexpr std::chrono::hours start_key_keep{24};                // a removed job's id stays taken this long
inline constexpr std::size_t duplex_in_flight_max = 256;               // messages of duplex jobs under way at once
inline constexpr std::size_t duplex_bytes_max = 48u << 20;             // of their payloads
inline constexpr std::uint32_t duplex_deliveries_max = 10;             // of one message; then its job is parked
inline constexpr std::chrono::seconds duplex_lease{30};                // of a message that an engine holds
inline constexpr std::chrono::hours duplex_work_lease{24};             // of a request that a local worker holds
inline constexpr std::chrono::milliseconds duplex_early_delay_min{1};  // before a message that came too early is tried
inline constexpr std::chrono::milliseconds duplex_early_delay_max{1000};  // again; doubled each time
inline constexpr std::chrono::milliseconds duplex_unread_delay{1000};  // the same when its graph or job is unreadable

}  // namespace pawl::limits
