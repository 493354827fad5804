// All operations except bundles.
#include "store/redis/encoder.h"

#include "base/invariant.h"
#include "base/limits.h"
#include "core/codec.h"
#include "store/check_limits.h"
#include "store/domain.h"
#include "store/redis/answers.h"
#include "store/rules.h"

namespace pawl::store::redis {

namespace {

std::string text(std::uint64_t number) { return format("{}", number); }
std::string text(RunId run) { return text(run.raw()); }
std::string text(core::Epoch epoch) { return text(epoch.raw()); }
std::string text(core::WorkToken token) { return text(token.raw()); }
std::string text(Instant at) { return format("{}", at.micros()); }
std::string text(Duration time) { return format("{}", time.count()); }
std::string flag(bool on) { return on ? "1" : "0"; }
std::string bytes(const Payload& payload) { return std::string(payload.view()); }

void put_message(Words& words, const core::Message& message) {
  words.insert(words.end(), {message.guid.text(), std::string(kind_of(message.body)), core::encode(message.body)});
}

std::string name_of(Reuse reuse) {
  switch (reuse) {
    case Reuse::never:
      return "never";
    case Reuse::after_close:
      return "after_close";
    case Reuse::replace:
      return "replace";
  }
  return "never";
}

template <class One>
constexpr bool is_of_catalogue =
    std::is_same_v<One, OpenPool> || std::is_same_v<One, BeatEngine> || std::is_same_v<One, LeaveEngine> ||
    std::is_same_v<One, PutApp> || std::is_same_v<One, ActivateApp>;

bool is_bare(const core::Reply* reply, const DeliverReply& delivery) {
  return reply == nullptr || reply->activity != delivery.activity;
}

}  // namespace

std::string OperationEncoder::outbox_index(core::LaneId target) {
  const std::string key = keys_.outbox(lane_, target);
  const auto known = std::find(outboxes_.begin(), outboxes_.end(), key);
  const auto index = static_cast<std::size_t>(known - outboxes_.begin());
  if (known == outboxes_.end()) outboxes_.push_back(key);
  return text(lane_key_names.size() + index + 1);
}

OperationEncoder::Answer OperationEncoder::encode(const Operation& operation, const core::Bundle* first_step) {
  leaves_start_ = first_step != nullptr && takes_start(*first_step);
  if (const auto fits = check_limits(operation); !fits) return rejected(fits.error().detail);
  if (domain_of(operation).kind == Domain::Kind::all_lanes)
    return rejected("lanes are islands here: name the one that is meant");
  if (!has_lane_(lane_)) return of_no_lane(operation);
  return std::visit(
      [this]<class One>(const One& one) -> Answer {
        if constexpr (is_of_catalogue<One>) {
          invariant(false, "an operation of the catalogue goes to no lane");
          return rejected("");
        } else {
          return run(one);
        }
      },
      operation);
}

Outcome OperationEncoder::of_no_lane(const Operation& operation) const {
  const auto missing = [this] { return rejected(format("there is no lane {}", lane_.raw())); };
  return std::visit(Overloaded{
                        each_of<core::Bundle, ClaimItem, DropOutbox, RenewLane, ReleaseLane>([] { return fenced(); }),
                        each_of<Submit, AcquireLane, PauseTopic>(missing),
                        each_of<ClaimWork, DropKeys>([] { return committed(); }),
                        each_of<RemoveJob>([] { return already_done(); }),
                        [&](const Deliver& deliver) {
                          return deliver.source || is_by_key(deliver.envelope) ? missing() : committed();
                        },
                        [](const DeliverReply& delivery) { return stale_item(delivery.activity); },
                        [](const ExtendWork& extend) { return stale_item(extend.activity); },
                        [](const ReleaseWork& release) {
                          return release.epoch != core::Epoch(0) ? fenced() : stale_item(release.activity);
                        },
                        each_of<OpenPool, BeatEngine, LeaveEngine, PutApp, ActivateApp>([] { return committed(); }),
                    },
                    operation);
}

// --- jobs

// The names of its messages are derived from its run, which only the script knows.
void OperationEncoder::put_new_job(Words& words, const Submit& submit, const std::optional<core::ParentLink>& parent) {
  const core::Message start = core::start_message(RunId(0), submit.input);
  const core::Message deadline = core::deadline_message(RunId(0));
  const core::Message replaced = replaced_message(RunId(0));
  words.insert(words.end(), {redis::name_of(core::JobKey{submit.name_space, submit.id}), name_of(submit.reuse),
                             text(submit.follows), std::string(kind_of(start.body)), core::encode(start.body),
                             text(submit.start_at), std::string(kind_of(deadline.body)), core::encode(deadline.body),
                             text(submit.deadline), std::string(kind_of(replaced.body)), core::encode(replaced.body)});
  const Words row = new_row(submit, parent);
  words.push_back(text(row.size()));
  words.insert(words.end(), row.begin(), row.end());
}

OperationEncoder::Answer OperationEncoder::run(const Submit& submit) {
  Encoded out;
  out.makes = 1;
  out.name = "j" + redis::name_of(core::JobKey{submit.name_space, submit.id});
  out.arguments = {"submit", flag(leaves_start_)};
  put_new_job(out.arguments, submit, std::nullopt);
  return out;
}

OperationEncoder::Answer OperationEncoder::run(const RemoveJob& remove) {
  return Encoded{{"remove_job", text(remove.run), text(remove.key_until)}, {remove.run}};
}

OperationEncoder::Answer OperationEncoder::run(const DropKeys& drop) {
  return Encoded{{"drop_keys", text(drop.up_to), text(drop.rows_max)}, {}};
}

// --- messages

void OperationEncoder::put_child(Words& words, const core::JobKey& key, const core::StartChild& start) {
  words.emplace_back("child");
  // The script's clock sets the time of creation.
  Submit submit = submit_of(start, key, lane_, Instant());
  put_new_job(words, submit, start.parent);
  const core::Envelope refusal = core::refused_child(start, key.id);
  const core::LaneId target = core::lane_of(start.parent.run);
  words.insert(words.end(), {text(start.parent.run), start.parent.request.text(), outbox_index(target),
                             flag(has_lane_(target)), text(target.raw()), refusal.message.guid.text(),
                             std::string(kind_of(refusal.message.body)), core::encode(refusal)});
}

OperationEncoder::Answer OperationEncoder::run(const Deliver& deliver) {
  if (deliver.source && !has_lane_(deliver.source->lane))
    return rejected(format("there is no lane {}", deliver.source->lane.raw()));
  const core::Message& message = deliver.envelope.message;
  Encoded out;
  out.arguments = {"deliver", "", "", ""};
  if (deliver.source) {
    out.arguments[1] = text(deliver.source->lane.raw());
    out.arguments[2] = text(deliver.source->seq);
    out.arguments[3] = text(deliver.source->seq - 1);
  }
  put_message(out.arguments, message);
  Words& words = out.arguments;
  std::visit(Overloaded{
                 [&](RunId run) {
                   words.insert(words.end(), {"run", text(run)});
                   out.runs.push_back(run);
                 },
                 [&](const core::MailboxKey& key) {
                   const auto* signal = std::get_if<core::Signal>(&message.body);
                   words.insert(words.end(),
                                {"mailbox", redis::name_of(key), "6", "ns", key.name_space.raw(), "topic",
                                 key.topic.raw(), "key", key.key, signal == nullptr ? "" : text(signal->data.size()),
                                 text(pawl::limits::early_signals_per_mailbox_max),
                                 text(pawl::limits::early_signal_bytes_per_mailbox_max), flag(is_remembered(deliver)),
                                 text(Duration(pawl::limits::signal_id_keep)),
                                 text(pawl::limits::signal_ids_per_lane_max), text(signal_ids_per_drop)});
                   out.makes = 1;
                   out.name = "m" + redis::name_of(key);
                 },
                 [&](const core::JobKey& key) {
                   out.name = "j" + redis::name_of(key);
                   if (const auto* start = std::get_if<core::StartChild>(&message.body)) {
                     put_child(words, key, *start);
                     out.makes = 1;
                   } else {
                     words.insert(words.end(), {"job", redis::name_of(key)});
                   }
                 },
             },
             deliver.envelope.to);
  return out;
}

OperationEncoder::Answer OperationEncoder::run(const DropOutbox& drop) {
  return Encoded{{"drop_outbox", text(drop.epoch), outbox_index(drop.target), text(drop.target.raw()), text(drop.up_to),
                  text(drop.up_to + 1), no_row(drop)},
                 {}};
}

// --- work

OperationEncoder::Answer OperationEncoder::run(const DeliverReply& delivery) {
  const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
  if (is_bare(reply, delivery)) return rejected("the message is no answer to this work item");
  const char* status = reply->status == core::ReplyStatus::success ? "success"
                       : core::is_error(reply->status)             ? "error"
                                                                   : "pending";
  Encoded out{{"respond", text(delivery.run), place_of(delivery.run, delivery.activity), text(delivery.token), status},
              {delivery.run}};
  put_message(out.arguments, delivery.message);
  return out;
}

OperationEncoder::Answer OperationEncoder::run(const ClaimWork& claim) {
  Encoded out{{"claim_work", text(claim.items_max), escape(claim.worker), text(claim.lease), text(claim.topics.size())},
              {}};
  for (const Topic& topic : claim.topics) out.arguments.push_back(escape(topic.raw()));
  return out;
}

OperationEncoder::Answer OperationEncoder::run(const ClaimItem& claim) {
  return Encoded{{"claim_item", text(claim.run), place_of(claim.run, claim.activity), text(claim.before),
                  escape(claim.worker), text(claim.epoch)},
                 {claim.run}};
}

OperationEncoder::Answer OperationEncoder::run(const ExtendWork& extend) {
  return Encoded{{"extend_work", text(extend.run), place_of(extend.run, extend.activity), text(extend.token),
                  text(extend.lease), flag(extend.progress.has_value()), extend.progress ? bytes(*extend.progress) : "",
                  flag(extend.detach), extend.attempt_left ? text(*extend.attempt_left) : ""},
                 {extend.run}};
}

OperationEncoder::Answer OperationEncoder::run(const ReleaseWork& release) {
  return Encoded{{"release_work", text(release.run), place_of(release.run, release.activity), text(release.token),
                  text(release.epoch), flag(release.began == core::Began::yes)},
                 {release.run}};
}

OperationEncoder::Answer OperationEncoder::run(const PauseTopic& pause) {
  return Encoded{{"pause_topic", escape(pause.topic.raw()), flag(pause.paused), text(pawl::limits::paused_topics_max)},
                 {}};
}

// --- the lane

OperationEncoder::Answer OperationEncoder::run(const AcquireLane& acquire) {
  if (acquire.owner.empty()) return rejected("an owner needs a name");
  return Encoded{{"acquire_lane", acquire.owner, text(acquire.lease)}, {}};
}
OperationEncoder::Answer OperationEncoder::run(const RenewLane& renew) {
  return Encoded{{"renew_lane", text(renew.epoch), text(renew.lease)}, {}};
}
OperationEncoder::Answer OperationEncoder::run(const ReleaseLane& release) {
  return Encoded{{"release_lane", text(release.epoch)}, {}};
}

}  // namespace pawl::store::redis
