// A limit with a name for everything that could grow without bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::limits {

inline constexpr std::size_t name_bytes_max = 200;
inline constexpr std::size_t payload_bytes_max = 4u << 20;  // input or output of one activity
inline constexpr std::size_t reason_bytes_max = 4u << 10;   // why a job failed or was parked
inline constexpr std::size_t app_bytes_max = 4u << 20;      // one version of an app, as it was deployed
inline constexpr std::size_t failure_bytes_max = 1u << 10;  // what is kept of a failed try's error
inline constexpr std::uint32_t graph_activities_max = 20'000;
inline constexpr std::uint32_t reentries_max = 10;            // then the job is parked, not tried for ever
inline constexpr std::uint32_t reentries_in_groups_max = 2;   // from then on a suspect is entered alone
inline constexpr std::chrono::seconds suspect_alone_max{10};  // a suspect run that lives so long holds up no other
inline constexpr std::uint32_t attempts_max = 1'000'000;      // tries of a retry policy
inline constexpr std::int32_t priority_max = 1'000'000;
inline constexpr std::chrono::hours duration_max{24 * 365 * 100};
inline constexpr std::size_t paused_topics_max = 4096;
inline constexpr std::uint32_t redeliveries_ceiling =
    99'999'999;  // entries of a message, however often its job is redriven
inline constexpr std::uint32_t lanes_per_pool_max = 4096;
// On a server that many processes share: how long a lane is one's own without a word, and how many there are to be
// shared.
inline constexpr std::chrono::seconds server_lease{10};
inline constexpr std::uint32_t server_lanes = 16;
inline constexpr std::size_t engine_topics_max = 1024;  // that an engine says it serves
inline constexpr std::uint32_t lanes_max = 65'535;      // the lane part of a run id has 16 bits
inline constexpr std::size_t bundles_per_group_max = 1024;
inline constexpr std::size_t messages_per_bundle_max = 16'384;
inline constexpr std::size_t steps_per_bundle_max = 64;     // that a job takes by itself before others have their turn,
inline constexpr std::size_t steps_beside_others_max = 16;  // and while there are others,
inline constexpr std::chrono::milliseconds beside_others_for{100};  // which are remembered for so long;
inline constexpr int rests_per_commit = 3;                // then it rests for three times as long as a commit takes,
inline constexpr std::chrono::milliseconds rest_max{20};  // and no longer than that
inline constexpr std::size_t hot_jobs_max = 100'000;      // more than that leave memory
inline constexpr std::size_t submits_waiting_max = 65'536;
inline constexpr std::size_t start_many_at_once_max = 4096;  // of one start_many(), on their way to the store
inline constexpr std::size_t ends_watched_max = 1'000'000;   // jobs with a callback for their end
// Bytes of payloads and what goes with them, in one process. Each of these lets one through, however large it is.
inline constexpr std::size_t bytes_waiting_max =
    48u << 20;  // asked, answered, being decided or committed; then callers wait
inline constexpr std::size_t hot_job_bytes_max = 48u << 20;       // of jobs at rest: the longest unused leave memory
inline constexpr std::size_t worker_queue_bytes_max = 16u << 20;  // inputs of work claimed for local workers
inline constexpr std::size_t group_bytes_max = 16u << 20;         // of the bundles that are committed together
inline constexpr std::size_t light_request_bytes = 4u << 10;      // a smaller request never waits for bytes
inline constexpr std::chrono::seconds stop_without_store_max{2};  // then stop() leaves the rest to the next start
inline constexpr std::uint64_t log_bytes_ceiling = std::uint64_t{1} << 40;  // of RuntimeOptions::log_bytes_max
inline constexpr std::chrono::seconds problem_window{10};                   // the same problem is reported once in it,
inline constexpr std::size_t problems_per_window_max = 200;                 // and so many different ones
inline constexpr std::uint32_t worker_threads_max = 1024;
inline constexpr std::size_t hung_threads_max = 64;     // taken by workers that do not return; each was replaced
inline constexpr std::chrono::minutes probe_within{1};  // then a probe is one that does not return
inline constexpr std::size_t worker_queue_max = 65'536;
inline constexpr int transaction_share_of_lease =
    2;  // a worker's transaction on a server lasts half a lease at the most
inline constexpr std::chrono::seconds transaction_begin_wait{
    10};                                                     // that a worker waits for one; then its work is given back
inline constexpr std::size_t sql_rows_max = 100'000;         // that one statement of a worker's transaction answers,
inline constexpr std::size_t sql_bytes_max = 64u << 20;      // and what they hold
inline constexpr std::size_t pending_answers_max = 10'000;   // that one run of a worker gives before its last
inline constexpr std::size_t pending_bytes_max = 16u << 20;  // and what they hold together
inline constexpr std::size_t early_signals_per_mailbox_max = 10'000;  // that no hook has taken yet
inline constexpr std::size_t early_signal_bytes_per_mailbox_max =
    1u << 30;                                               // of these, with a few bytes beside their data
inline constexpr std::chrono::hours early_signal_keep{24};  // a signal that no hook has taken goes then
inline constexpr std::chrono::hours signal_id_keep{24};     // a signal that is told again within it counts once,
inline constexpr std::uint64_t signal_ids_per_lane_max = 1'000'000;  // unless so many others came to its lane meanwhile
inline constexpr int timer_holds_max = 5;                  // a hook's time waits so often for its unserved registration
inline constexpr std::size_t mailbox_page_messages = 256;  // served in one commit of a mailbox
inline constexpr std::size_t mailbox_page_bytes = 8u << 20;  // and read for it, beyond the first one
inline constexpr std::size_t label_bytes_max = 512;          // of what a job is found or counted by
inline constexpr std::size_t signal_page_jobs = 100;         // told in one commit by a signal to all
inline constexpr std::size_t signal_page_bytes = 16u << 20;  // and of what they are told
inline constexpr std::size_t recovery_page_rows = 4096;
inline constexpr std::size_t outbox_page_rows = 1024;  // for each lane that is sent to
inline constexpr std::size_t start_keys_per_drop = 1000;
inline constexpr std::chrono::seconds clock_set_back_min{1};  // of the machine's clock; less is not worth a word
inline constexpr std::uint32_t last_turns_max = 32;           // of a job, once its engine is stopping
inline constexpr std::size_t reads_per_batch_max = 512;       // asked of a store that is far away in one call
inline constexpr std::size_t reads_out_max = 4096;            // asked and not answered; beyond it nothing is looked for
inline constexpr std::size_t read_answers_bytes = 8u << 20;  // of the jobs in the answers to one call, and one more job
inline constexpr std::size_t looks_per_turn = 256;           // rows of a scan, or jobs; then commands have their turn
inline constexpr std::size_t changed_runs_max = 128;         // named to the owner; more: it looks through all inboxes
inline constexpr std::chrono::seconds reads_fail_silently_max{1};  // then it is said that nothing can be looked for
inline constexpr std::size_t damaged_per_page_max = 100;
inline constexpr std::size_t damaged_named_max = 10'000;    // entities that are reported as damaged, each once
inline constexpr std::size_t due_page_rows = 1024;          // read of what the clock sets going
inline constexpr std::size_t due_per_turn_max = 1024;       // of it served in one turn, all lanes together
inline constexpr std::size_t due_entries_max = 4096;        // of it in memory, per lane
inline constexpr std::size_t due_reminders_max = 100'000;   // and of second times of one item
inline constexpr std::chrono::hours start_key_keep{24};     // a removed job's id stays taken this long
inline constexpr std::size_t duplex_in_flight_max = 256;    // messages of duplex jobs under way at once
inline constexpr std::size_t duplex_bytes_max = 48u << 20;  // of their payloads
inline constexpr std::uint32_t duplex_deliveries_max = 10;  // of one message; then its job is parked
inline constexpr std::chrono::seconds duplex_lease{30};     // of a message in an engine's hands
inline constexpr std::chrono::hours duplex_work_lease{24};  // of a request with a local worker
inline constexpr std::chrono::milliseconds duplex_early_delay_min{1};  // until a message that came too early is tried
inline constexpr std::chrono::milliseconds duplex_early_delay_max{1000};  // again; doubled each time
inline constexpr std::chrono::milliseconds duplex_unread_delay{
    1000};  // likewise, when its graph or its job cannot be read

}  // namespace pawl::limits
