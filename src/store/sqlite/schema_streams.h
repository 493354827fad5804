// The streams of `collation: duplex`, ordered so that a dequeue finds its messages however many wait.
#pragma once

namespace pawl::store::sqlite {

// A waiting message is free (free_at = 0), claimed (with epoch and claim), or given back for a while (epoch and claim
// are 0). The messages of a parked job are not handed out.
inline constexpr const char* streams_schema = R"sql(
DROP INDEX duplex_stream_waiting;
UPDATE duplex_stream SET done = 2             -- done: 0 it waits, 1 only its name is left, 2 its job is parked
  WHERE done = 0 AND run IN (SELECT run FROM jobs WHERE status = 4);
CREATE INDEX duplex_stream_free ON duplex_stream (lane, topic, id) WHERE done = 0 AND free_at = 0;
CREATE INDEX duplex_stream_held ON duplex_stream (lane, topic, epoch, free_at) WHERE done = 0 AND free_at > 0;
CREATE INDEX duplex_stream_claim ON duplex_stream (claim) WHERE done = 0 AND claim > 0;
)sql";

}  // namespace pawl::store::sqlite
