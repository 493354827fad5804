// For tests: bundles and messages with random values in every field.
#pragma once

#include "base/random.h"
#include "core/bundle.h"

namespace pawl::core {

class RandomBundle {
 public:
  explicit RandomBundle(std::uint64_t seed) : random_(seed) {}

  Bundle bundle() {
    Bundle made;
    made.entity = RunId(number());
    made.epoch = Epoch(number());
    made.rev_before = Rev(number());
    made.id = BundleId(number());
    if (coin())
      made.head = job_head();
    else
      made.head = MailboxHead{number()};
    for (std::uint64_t i = random_.below(6); i > 0; --i)
      made.writes.push_back(write(random_.below(std::variant_size_v<Write>)));
    return made;
  }

  Write write(std::uint64_t kind) {
    switch (kind) {
      case 0:
        return PutActivity{maybe([this] { return activity_ledger(); }), activity()};
      case 1:
        return PutRecord{maybe([this] { return message_ledger(); }),
                         MessageRecord{guid(), seq(), message_ledger(), payload()}};
      case 2:
        return PutMessage{message(), instant()};
      case 3:
        return CountRedelivery{guid(), small()};
      case 4:
        return Consume{guid()};
      case 5:
        return PutWork{work()};
      case 6:
        return DropWork{seq(), WorkToken(number())};
      case 7:
        return Sweep{maybe([this] { return guid(); })};
      case 8:
        return Send{envelope(), LaneId(small())};
      case 9:
        return PutEntry{entry()};
      case 10:
        return DropEntry{number()};
      case 11:
        return ChangeWork{seq(), WorkToken(number()), coin(), instant(), life()};
      case 12:
        return HoldWork{coin()};
      case 13:
        return PutLabel{label()};
      case 14:
        return DropLabel{label()};
      case 15:
        return AddMeasure{measure()};
      case 16:
        return announcement();
      default:
        return OfferEntry{number(), guid(), maybe([this] { return guid(); })};
    }
  }
  Message message() { return {guid(), body(random_.below(std::variant_size_v<Body>))}; }
  Body body(std::uint64_t kind) {
    switch (kind) {
      case 0:
        return Start{payload()};
      case 1:
        return Transition{small(), dimensions(), seq(), payload()};
      case 2:
        return Reply{seq(), reply_status(), code(), WorkToken(number()), payload()};
      case 3:
        return registration();
      case 4:
        return signal();
      case 5:
        return Resume{seq(), guid(), payload(), reply_status(), code()};
      case 6:
        return NoReply{seq(), WorkToken(number()), static_cast<NoReply::Why>(random_.below(5))};
      case 7:
        return Interrupt{code(), text()};
      case 8:
        return Pause{text()};
      case 9:
        return Proceed{};
      case 10:
        return Redrive{};
      case 11:
        return Verdict{seq(), static_cast<Verdict::Kind>(random_.below(3)), code(), payload()};
      default:
        return graph_body(kind);
    }
  }
  // Messages that only graphs of the graph language send.
  Body graph_body(std::uint64_t kind) {
    switch (kind) {
      case 12:
        return TimeUp{seq(), static_cast<TimeUp::What>(random_.below(3))};
      case 13:
        return Reenter{seq(), payload()};
      case 14:
        return Arrive{small(), dimensions(), seq(), small(), coin()};
      case 15:
        return Item{seq(), small(), coin()};
      case 16:
        return StartChild{GraphRef{GraphName(text()), small(), number()}, payload(),
                          ParentLink{RunId(number()), seq(), guid(), coin()}, code(), JobSecret(guid())};
      case 17:
        return ChildDone{seq(), reply_status(), code(), payload()};
      case 18:
        return EndJob{maybe([this] { return RunId(number()); }),          code(), text(), coin(), coin(),
                      maybe([this] { return Duration(signed_number()); })};
      case 19:
        return Withdraw{guid()};
      case 20:
        return Expire{guid()};
      case 21:
        return Expand{seq(),  GraphName(text()), label(),   RunId(number()), small(), number(),
                      coin(), Topic(text()),     payload(), reply_status(),  code()};
      case 22:
        return Unlabel{label()};
      case 23:
        return Taken{guid(), guid()};
      case 24:
        return Refused{seq(), reply_status(), code(), payload()};
      case 25:
        return GiveAnswer{seq(), code(), payload()};
      case 26:
        return DropSignal{guid()};
      default:
        return Cancel{code(), text()};
    }
  }
  Envelope envelope() {
    Envelope made;
    switch (random_.below(std::variant_size_v<Target>)) {
      case 0:
        made.to = RunId(number());
        break;
      case 1:
        made.to = MailboxKey{Namespace(text()), Topic(text()), text()};
        break;
      default:
        made.to = JobKey{Namespace(text()), JobId(text())};
    }
    made.message = message();
    return made;
  }

 private:
  bool coin() { return random_.one_in(2); }
  // Small and large numbers, so that every length of the encoding occurs.
  std::uint64_t number() { return random_.next() >> random_.below(64); }
  std::uint32_t small() { return static_cast<std::uint32_t>(number()); }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()) * (coin() ? 1 : -1); }
  std::int32_t code() { return static_cast<std::int32_t>(number()); }
  ReplyStatus reply_status() { return static_cast<ReplyStatus>(random_.below(4)); }
  ActivitySeq seq() { return ActivitySeq(small()); }
  Guid guid() { return Guid{number(), number()}; }
  Instant instant() { return Instant::from_micros(signed_number()); }
  std::string text() {
    std::string made;
    for (std::uint64_t i = random_.below(20); i > 0; --i) made.push_back(static_cast<char>(random_.below(256)));
    return made;
  }
  Payload payload() { return random_.one_in(20) ? Payload(std::string(300, 'p')) : Payload(text()); }
  template <class F>
  auto maybe(F make) -> std::optional<decltype(make())> {
    if (coin()) return std::nullopt;
    return make();
  }
  ledger::ActivityLedger activity_ledger() {
    std::uint64_t digits = random_.below(1000) * 1'000'000'000'000 + random_.below(100'000'000);
    static constexpr std::uint64_t weights[] = {100'000'000'000, 10'000'000'000, 1'000'000'000, 100'000'000};
    for (const std::uint64_t weight : weights)
      if (coin()) digits += weight;
    return *ledger::ActivityLedger::decode(digits);
  }
  ledger::MessageLedger message_ledger() {
    static constexpr std::uint64_t shapes[] = {0, 10'000'000'000, 11'000'000'000, 111'000'000'000, 111'100'000'000};
    return *ledger::MessageLedger::decode(shapes[random_.below(5)] + 1 + random_.below(99'999'999));
  }
  ledger::Dimensions dimensions() {
    ledger::Dimensions made;
    for (std::uint64_t i = random_.below(5); i > 0; --i)
      made = made.in_plane(static_cast<std::uint32_t>(random_.below(1000))).child();
    return made;
  }
  Activity activity() {
    Activity made;
    made.seq = seq();
    made.node = small();
    made.at = dimensions();
    made.parent = maybe([this] { return seq(); });
    made.ledger = activity_ledger();
    made.status = static_cast<ActivityStatus>(random_.below(4));
    made.code = code();
    made.opened_at = instant();
    made.closed_at = instant();
    made.output = payload();
    made.state = payload();
    return made;
  }
  WorkItem work() {
    WorkItem made;
    made.run = RunId(number());
    made.activity = seq();
    made.topic = Topic(text());
    made.request = guid();
    made.token = WorkToken(number());
    made.worker = text();
    made.epoch = Epoch(number());
    made.lease_until = instant();
    made.runs = small();
    made.input = payload();
    made.priority = static_cast<std::int32_t>(number());
    made.visible_at = instant();
    made.held = coin();
    made.plain_key = coin();
    made.life = life();
    return made;
  }
  WorkLife life() {
    WorkLife made;
    made.queue_timeout = Duration(signed_number());
    made.attempt_timeout = Duration(signed_number());
    made.heartbeat_timeout = Duration(signed_number());
    made.deadline = instant();
    made.at_most_once = coin();
    made.unknown = coin();
    made.queue_by = instant();
    made.attempt_by = instant();
    made.heartbeat_by = instant();
    made.failures = small();
    made.failure_code = static_cast<std::int32_t>(number());
    made.failure = text();
    made.progress = payload();
    if (coin()) made.trace = text();
    return made;
  }
  Label label() { return Label{text(), text(), text()}; }
  Measure measure() {
    return Measure{text(), text(), text(), maybe([this] { return text(); }), static_cast<double>(signed_number()) / 8};
  }
  Announce announcement() {
    return Announce{Topic(text()), static_cast<Announce::What>(random_.below(2)), reply_status(), code(), instant(),
                    payload()};
  }
  Register registration() { return Register{RunId(number()), seq()}; }
  Signal signal() { return Signal{payload(), reply_status(), code()}; }
  MailboxEntry entry() {
    MailboxEntry made;
    made.seq = number();
    made.guid = guid();
    if (coin())
      made.what = signal();
    else
      made.what = registration();
    made.expires_at = instant();
    made.offered_to = maybe([this] { return guid(); });
    return made;
  }
  JobHead job_head() {
    JobHead made;
    made.status = static_cast<JobStatus>(random_.below(6));
    made.semaphore = maybe([this] { return SemaphoreStep{signed_number(), signed_number(), signed_number(), coin()}; });
    made.completions_before = small();
    made.completions = small();
    made.next_activity = small();
    made.closed_at = instant();
    made.result = maybe([this] { return payload(); });
    made.reason = maybe([this] { return text(); });
    made.remove_at = instant();
    made.redrives = small();
    made.data = maybe([this] { return payload(); });
    made.code = code();
    return made;
  }

  Random random_;
};

}  // namespace pawl::core
