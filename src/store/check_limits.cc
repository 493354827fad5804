#include "store/check_limits.h"

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::store {

namespace {

Status check_size(std::string_view what, std::size_t size, std::size_t size_max) {
  if (size <= size_max) return {};
  return Error{ErrorCode::over_limit, format("{} has {} bytes; at most {} are allowed", what, size, size_max)};
}

Status check_payload(std::string_view what, const Payload& payload) {
  return check_size(what, payload.size(), limits::payload_bytes_max);
}

Status check_reason(const std::string& reason) {
  return check_size("the reason", reason.size(), limits::reason_bytes_max);
}

Status check_life(const core::WorkLife& life) {
  auto checked = check_size("the failure", life.failure.size(), limits::failure_bytes_max);
  return checked ? check_payload("the progress", life.progress) : checked;
}

Status check_work(const core::WorkItem& item) {
  auto checked = check_payload("the input", item.input);
  return checked ? check_life(item.life) : checked;
}

Status check_priority(std::int32_t priority) {
  if (priority <= limits::priority_max && priority >= -limits::priority_max) return {};
  return Error{ErrorCode::over_limit, format("a priority is between {} and {}, not {}", -limits::priority_max,
                                             limits::priority_max, priority)};
}

Status check_keep(const std::optional<Duration>& keep) {
  if (!keep || (*keep >= Duration(0) && *keep <= limits::duration_max)) return {};
  return Error{ErrorCode::over_limit, "a job is kept for a time between 0 and 100 years"};
}

Status check_child(const core::StartChild& start) {
  auto checked = check_priority(start.priority);
  return checked ? check_payload("the input", start.input) : checked;
}

Status check_end(const core::EndJob& end) {
  auto checked = check_reason(end.reason);
  return checked ? check_keep(end.keep) : checked;
}

Status check_label(const core::Label& label) {
  auto checked = check_size("the key", label.key.size(), limits::label_bytes_max);
  if (checked) checked = check_size("the label's name", label.name.size(), limits::label_bytes_max);
  return checked ? check_size("the label's value", label.value.size(), limits::label_bytes_max) : checked;
}

Status check_measure(const core::Measure& measure) {
  auto checked = check_size("the key", measure.key.size(), limits::label_bytes_max);
  if (checked) checked = check_size("what is measured", measure.target.size(), limits::label_bytes_max);
  if (checked && measure.value)
    checked = check_size("the value that is counted", measure.value->size(), limits::label_bytes_max);
  return checked ? check_size("the time slice", measure.slice.size(), limits::label_bytes_max) : checked;
}

Status check_expand(const core::Expand& expand) {
  auto checked = check_label(expand.label);
  return checked ? check_payload("the signal", expand.data) : checked;
}

Status check_body(const core::Body& body) {
  return std::visit(Overloaded{
                        [](const core::Start& m) { return check_payload("the input", m.input); },
                        [](const core::Transition& m) { return check_payload("the input", m.input); },
                        [](const core::Reply& m) { return check_payload("the answer", m.data); },
                        [](const core::Register&) { return Status{}; },
                        [](const core::Signal& m) { return check_payload("the signal", m.data); },
                        [](const core::Resume& m) { return check_payload("the signal", m.data); },
                        [](const core::NoReply&) { return Status{}; },
                        [](const core::Interrupt& m) { return check_reason(m.reason); },
                        [](const core::Cancel& m) { return check_reason(m.reason); },
                        [](const core::Pause& m) { return check_reason(m.reason); },
                        [](const core::Proceed&) { return Status{}; },
                        [](const core::Redrive&) { return Status{}; },
                        [](const core::Verdict& m) { return check_payload("the verdict", m.data); },
                        [](const core::TimeUp&) { return Status{}; },
                        [](const core::Reenter& m) { return check_payload("the input", m.data); },
                        [](const core::Arrive&) { return Status{}; },
                        [](const core::Item&) { return Status{}; },
                        [](const core::StartChild& m) { return check_child(m); },
                        [](const core::ChildDone& m) { return check_payload("the answer", m.data); },
                        [](const core::EndJob& m) { return check_end(m); },
                        [](const core::Withdraw&) { return Status{}; },
                        [](const core::Expire&) { return Status{}; },
                        [](const core::Expand& m) { return check_expand(m); },
                        [](const core::Unlabel& m) { return check_label(m.label); },
                        [](const core::Taken&) { return Status{}; },
                        [](const core::Refused& m) { return check_payload("the answer", m.data); },
                        [](const core::GiveAnswer& m) { return check_payload("the answer", m.data); },
                        [](const core::DropSignal&) { return Status{}; },
                    },
                    body);
}

Status check_activity(const core::Activity& activity) {
  auto checked = check_payload("the output", activity.output);
  return checked ? check_payload("the activity's state", activity.state) : checked;
}

Status check_write(const core::Write& write) {
  return std::visit(Overloaded{
                        [](const core::PutActivity& w) { return check_activity(w.after); },
                        [](const core::PutMessage& w) { return check_body(w.message.body); },
                        [](const core::PutWork& w) { return check_work(w.item); },
                        [](const core::ChangeWork& w) { return check_life(w.life); },
                        [](const core::Send& w) { return check_body(w.envelope.message.body); },
                        [](const core::PutEntry& w) {
                          const auto* signal = std::get_if<core::Signal>(&w.entry.what);
                          return signal == nullptr ? Status{} : check_payload("the signal", signal->data);
                        },
                        [](const core::PutRecord& w) { return check_payload("the output", w.after.output); },
                        [](const core::CountRedelivery&) { return Status{}; },
                        [](const core::Consume&) { return Status{}; },
                        [](const core::DropWork&) { return Status{}; },
                        [](const core::Sweep&) { return Status{}; },
                        [](const core::DropEntry&) { return Status{}; },
                        [](const core::OfferEntry&) { return Status{}; },
                        [](const core::HoldWork&) { return Status{}; },
                        [](const core::PutLabel& w) { return check_label(w.label); },
                        [](const core::DropLabel&) { return Status{}; },
                        [](const core::AddMeasure& w) { return check_measure(w.measure); },
                        [](const core::Announce& w) { return check_payload("the announcement", w.data); },
                    },
                    write);
}

Status check_bundle(const core::Bundle& bundle) {
  if (const auto* head = std::get_if<core::JobHead>(&bundle.head)) {
    if (head->result) {
      auto checked = check_payload("the result", *head->result);
      if (!checked) return checked;
    }
    if (head->reason) {
      auto checked = check_reason(*head->reason);
      if (!checked) return checked;
    }
    if (head->data) {
      auto checked = check_payload("the job's data", *head->data);
      if (!checked) return checked;
    }
  }
  for (const core::Write& write : bundle.writes) {
    auto checked = check_write(write);
    if (!checked) return checked;
  }
  return {};
}

Status check_submit(const Submit& submit) {
  auto checked = check_priority(submit.priority);
  if (checked) checked = check_keep(submit.keep);
  return checked ? check_payload("the input", submit.input) : checked;
}

Status check_app(const std::string& app, const std::string& version) {
  if (app.empty() || version.empty()) return Error{ErrorCode::invalid, "an app and its version need names"};
  auto checked = check_size("the app's name", app.size(), limits::name_bytes_max);
  return checked ? check_size("the app's version", version.size(), limits::name_bytes_max) : checked;
}

Status check_engine(const std::string& name) {
  if (name.empty()) return Error{ErrorCode::invalid, "an engine needs a name"};
  return check_size("the engine's name", name.size(), limits::name_bytes_max);
}

Status check_beat(const BeatEngine& beat) {
  auto checked = check_engine(beat.name);
  if (!checked) return checked;
  if (beat.lease <= Duration(0) || beat.lease > limits::duration_max)
    return Error{ErrorCode::over_limit, "an engine's lease is longer than 0, and at most 100 years"};
  if (beat.holds && beat.holds->size() > limits::lanes_per_pool_max)
    return Error{ErrorCode::over_limit,
                 format("an engine holds at most {} lanes of a pool", limits::lanes_per_pool_max)};
  if (beat.serves.size() > limits::engine_topics_max)
    return Error{ErrorCode::over_limit, format("an engine names at most {} topics", limits::engine_topics_max)};
  for (const Topic& topic : beat.serves) {
    checked = check_size("a topic", topic.raw().size(), limits::name_bytes_max);
    if (!checked) return checked;
  }
  return {};
}

}  // namespace

Status check_limits(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const core::Bundle& bundle) { return check_bundle(bundle); },
                        [](const Submit& submit) { return check_submit(submit); },
                        [](const Deliver& deliver) { return check_body(deliver.envelope.message.body); },
                        [](const DeliverReply& delivery) { return check_body(delivery.message.body); },
                        [](const ExtendWork& extend) {
                          return extend.progress ? check_payload("the progress", *extend.progress) : Status{};
                        },
                        [](const PutApp& put) {
                          auto checked = check_app(put.app, put.version);
                          return checked ? check_size("the app", put.body.size(), limits::app_bytes_max) : checked;
                        },
                        [](const ActivateApp& activate) { return check_app(activate.app, activate.version); },
                        [](const BeatEngine& beat) { return check_beat(beat); },
                        [](const LeaveEngine& leave) { return check_engine(leave.name); },
                        // These carry no payload.
                        each_of<ClaimWork, ClaimItem, ReleaseWork, DropOutbox, OpenPool, AcquireLane, RenewLane,
                                ReleaseLane, RemoveJob, DropKeys, PauseTopic>([] { return Status{}; }),
                    },
                    operation);
}

// Each operation is named, so that a new one must be considered here.
Status check_limits(const DuplexOperation& operation) {
  return std::visit(Overloaded{
                        [](const StartDuplex& start) { return check_payload("the input", start.input); },
                        [](const NameCloser& closer) { return check_payload("the output", closer.output); },
                        [](const Enqueue& enqueue) {
                          const Payload* data = payload_of(enqueue.message.body);
                          return data == nullptr ? Status{} : check_payload("the message", *data);
                        },
                        [](const EndDuplex& end) {
                          auto checked = check_payload("the result", end.result);
                          return checked ? check_reason(end.reason) : checked;
                        },
                        [](const ParkDuplex& park) { return check_reason(park.reason); },
                        [](const SetCell&) { return Status{}; },
                        [](const AddToCell&) { return Status{}; },
                        [](const OpenAddress&) { return Status{}; },
                        [](const CloseAddress&) { return Status{}; },
                        [](const Dequeue&) { return Status{}; },
                        [](const Ack&) { return Status{}; },
                        [](const GiveBack&) { return Status{}; },
                    },
                    operation);
}

}  // namespace pawl::store
