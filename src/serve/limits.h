// Named limits of the server: everything that a client could make grow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::serve::limits {

inline constexpr std::size_t connections_max = 12'000;
inline constexpr std::size_t header_bytes_max = 16u << 10;
inline constexpr std::size_t body_bytes_max = 8u << 20;         // of one request; a payload has at most 4 MiB
inline constexpr std::size_t bodies_bytes_max = 256u << 20;     // of all requests at once
inline constexpr std::chrono::seconds idle_max{75};             // between two requests of a connection
inline constexpr std::chrono::seconds request_arrives_max{30};  // from a request's header to the end of its body
inline constexpr std::chrono::seconds write_max{30};            // until a client takes the next bytes
inline constexpr std::chrono::seconds last_bytes_max{2};        // that are read and dropped behind a refused request
inline constexpr std::chrono::seconds handshake_max{10};
inline constexpr std::size_t streams_max = 1'000;                // of events and of work, together
inline constexpr std::size_t stream_queue_bytes_max = 1u << 20;  // that wait for one slow client
inline constexpr std::chrono::seconds stream_beat{15};           // a sign of life on a stream that has nothing to say
inline constexpr std::size_t requests_waiting_max = 4'096;       // that no thread has begun
inline constexpr std::chrono::seconds wait_max{60};              // of one request: for an end, or for work
inline constexpr std::size_t waiting_max = 10'000;               // such requests at once
inline constexpr std::size_t events_kept_max = 4'096;            // for streams that come back
inline constexpr std::chrono::minutes events_kept_for{10};  // once nobody follows them
inline constexpr std::size_t events_kept_bytes_max = 4u << 20;
inline constexpr std::size_t event_output_bytes_max = 16u << 10;  // of an event; a larger output is left out
inline constexpr std::size_t page_rows_max = 1'000;
inline constexpr std::size_t survey_rows_max = 100;  // errors and oldest jobs of one look at the store
inline constexpr std::size_t batch_lines_max = 10'000;
inline constexpr std::size_t results_max = 512;             // of one request
inline constexpr std::size_t results_bytes_max = 1u << 20;  // of them, unless one alone has more
inline constexpr std::size_t answers_max = 1'000;  // of one request
inline constexpr std::size_t topics_per_take_max = 64;
inline constexpr std::size_t topics_max = 4'096;         // that workers ask for
inline constexpr std::size_t take_max = 256;             // attempts of one request
inline constexpr std::size_t stream_work_max = 4'096;    // attempts of one stream that are out at once
inline constexpr std::size_t stream_name_bytes_max = 128;
inline constexpr std::size_t take_bytes_max = 8u << 20;  // of their inputs, unless one alone has more
inline constexpr std::size_t claims_at_once_max = 8;     // of one topic, on their way to the store
inline constexpr std::size_t claim_spare = 8;            // that a claim asks for beyond what is known to wait
inline constexpr std::chrono::seconds lease_min{1};
inline constexpr std::chrono::hours lease_max{24};
inline constexpr std::chrono::seconds lease_default{30};
inline constexpr std::chrono::seconds take_wait_default{20};
// Work that another process puts, or whose time has come, is found by a look; only while somebody waits for work.
inline constexpr std::chrono::seconds look_every{1};
inline constexpr std::chrono::minutes worker_remembered{1};
inline constexpr std::size_t workers_max = 10'000;         // that are remembered by name
inline constexpr std::size_t job_names_max = 65'536;       // that are remembered for work that is handed out
inline constexpr std::size_t graphs_measured_max = 1'000;  // that have figures of their own

inline constexpr std::size_t spans_waiting_max = 8'192;  // for the collector; more are dropped, and reported
inline constexpr std::size_t spans_per_batch_max = 512;
inline constexpr std::chrono::seconds spans_every{1};  // a batch is sent when it is full, or after this time

}  // namespace pawl::serve::limits
