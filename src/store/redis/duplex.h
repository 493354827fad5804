// The jobs of collation duplex on Redis: streams with consumer groups, hashes and sets, and no script (watched.h). So a
// server without scripts can hold them.
//
// Threads: any.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/duplex_store.h"
#include "store/redis/committer.h"
#include "store/redis/duplex_records.h"
#include "store/redis/keys.h"
#include "store/redis/servers.h"
#include "store/redis/watched.h"

namespace pawl::store::redis {

class DuplexStore final : public pawl::store::DuplexStore {
 public:
  using Now = std::function<Instant()>;
  // The references must outlive it. `clock` null: the server's; `now`: the server's time, as this process knows it.
  DuplexStore(Servers& servers, const Keys& keys, Committer& committer, const Clock* clock, Now now)
      : servers_(servers), keys_(keys), committer_(committer), clock_(clock), now_(std::move(now)) {}

  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) override;
  Instant now() const override { return now_(); }
  Result<std::optional<DuplexJob>> read(RunId run) override;
  Result<std::optional<DuplexJob>> read_under_way(RunId run) override;
  Result<std::optional<DuplexView>> view(RunId run, const Place& place) override;

 private:
  using Replies = std::vector<Reply>;
  using Decision = redis::Decision<DuplexOutcome>;
  using Ask = AskMore;
  Result<DuplexOutcome> attempt(core::LaneId lane, const Look& look, const Decide<DuplexOutcome>& decide) {
    const LaneOf of{committer_.watch(), lane};
    return redis::attempt<DuplexOutcome>(servers_, tag_of(lane), &of, look, decide);
  }

  // What most operations read first.
  struct JobSeen {
    bool exists = false;
    core::JobStatus status = core::JobStatus::running;
    std::string id;
    std::int64_t open = 0;
  };
  static JobSeen job_in(const Reply& row);
  std::optional<Decision> refuse(RunId run, const JobSeen& job) const;
  void ask_job(Look& look, RunId run) const;

  Result<DuplexOutcome> run(const StartDuplex& start);
  Result<DuplexOutcome> run(const SetCell& set);
  Result<DuplexOutcome> run(const AddToCell& add);
  Result<DuplexOutcome> run(const NameCloser& name);
  Result<DuplexOutcome> run(const OpenAddress& open);
  Result<DuplexOutcome> run(const CloseAddress& close);
  Result<DuplexOutcome> run(const Enqueue& enqueue);
  Result<DuplexOutcome> run(const Dequeue& dequeue);
  Result<DuplexOutcome> run(const Ack& ack);
  Result<DuplexOutcome> run(const GiveBack& back);
  Result<DuplexOutcome> run(const EndDuplex& end);
  Result<DuplexOutcome> run(const ParkDuplex& park);

  // Streams: one for the engine and one for each topic of a lane.
  std::string of_stream(core::LaneId lane, std::string_view what, std::string_view topic) const;
  void put_message(Commands& commands, const StreamMessage& message, std::uint64_t position) const;
  // Removes a message from its place in its stream; the caller changes its row.
  void unshelf(Commands& commands, core::LaneId lane, const Told& told, const std::string& member) const;
  void ring(Commands& commands, core::LaneId lane) const;
  Result<Instant> time_in(const Reply& reply) const;

  Result<std::vector<ClaimedMessage>> messages_of(RunId run, const Reply& told);
  Result<std::optional<DuplexJob>> read_parts(RunId run, bool under_way);

  Servers& servers_;
  const Keys& keys_;
  Committer& committer_;
  const Clock* const clock_;
  const Now now_;
};

}  // namespace pawl::store::redis
