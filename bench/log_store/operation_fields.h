// The fields of every operation, in the order in which the log keeps them. A bundle has one field more here than in
// core/fields.h: a log must also keep what a store only needs while it applies the group.
#pragma once

#include "core/fields.h"
#include "store/operation.h"

namespace pawl::store {

#define PAWL_FIELDS(Type, ...)                \
  template <class Codec>                      \
  void fields_of(Codec& codec, Type& value) { \
    [[maybe_unused]] auto& v = value;         \
    codec(__VA_ARGS__);                       \
  }

struct LoggedBundle {
  core::Bundle bundle;
};
PAWL_FIELDS(LoggedBundle, v.bundle, v.bundle.with_submit)

PAWL_FIELDS(OpenPool, v.pool, v.lanes)
PAWL_FIELDS(AcquireLane, v.lane, v.owner, v.lease)
PAWL_FIELDS(RenewLane, v.lane, v.epoch, v.lease)
PAWL_FIELDS(ReleaseLane, v.lane, v.epoch)
PAWL_FIELDS(BeatEngine, v.pool, v.name, v.lease, v.holds, v.serves, v.leaving)
PAWL_FIELDS(LeaveEngine, v.pool, v.name)
template <class Codec>
void fields_of(Codec& codec, Submit& v) {
  auto reuse = static_cast<std::uint8_t>(v.reuse);
  codec(v.name_space, v.id, v.lane, v.graph, v.input, v.at, reuse, v.follows, v.start_at, v.deadline, v.keep,
        v.priority, v.secret, v.expected);
  v.reuse = static_cast<Reuse>(reuse);
}
PAWL_FIELDS(RemoveJob, v.run, v.key_until)
PAWL_FIELDS(DropKeys, v.up_to, v.rows_max, v.lane)
PAWL_FIELDS(PauseTopic, v.topic, v.paused, v.lane)
PAWL_FIELDS(Deliver::Source, v.lane, v.seq)
PAWL_FIELDS(Deliver, v.envelope, v.lane, v.source, v.remembered)
PAWL_FIELDS(DropOutbox, v.lane, v.epoch, v.target, v.up_to)
PAWL_FIELDS(ClaimWork, v.topics, v.items_max, v.worker, v.lease, v.lane)
PAWL_FIELDS(ClaimItem, v.run, v.activity, v.before, v.worker, v.epoch)
PAWL_FIELDS(ExtendWork, v.run, v.activity, v.token, v.lease, v.progress, v.detach, v.attempt_left)
template <class Codec>
void fields_of(Codec& codec, ReleaseWork& v) {
  auto began = static_cast<std::uint8_t>(v.began);
  codec(v.run, v.activity, v.token, v.epoch, began);
  v.began = static_cast<core::Began>(began);
}
PAWL_FIELDS(DeliverReply, v.run, v.activity, v.token, v.message)
PAWL_FIELDS(PutApp, v.name_space, v.app, v.version, v.body)
PAWL_FIELDS(ActivateApp, v.name_space, v.app, v.version)

#undef PAWL_FIELDS

}  // namespace pawl::store
