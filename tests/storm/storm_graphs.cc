#include "storm_graphs.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace pawl::storm {

namespace {

// Sleeps differ from attempt to attempt, so that a repeated attempt is not killed at the same
// place.
void sleep_a_little(const Work& work, int part) {
  const auto hash = std::hash<std::string>{}(work.key());
  const auto mixed = (hash >> 7) + work.attempt() * 1777 + static_cast<std::size_t>(part) * 331;
  std::this_thread::sleep_for(std::chrono::microseconds(mixed % 5000));
}

std::string activity_of(const Work& work) {
  const std::string& topic = work.topic().raw();
  return topic.substr(topic.find('.') + 1);
}

std::string longer(const Work& work, const std::string& part) { return work.input().str() + "/" + part; }

Reply succeed(Work& work) {
  sleep_a_little(work, 0);
  return Reply::success(longer(work, activity_of(work)));
}

Reply report_twice(Work& work) {
  for (int part = 0; part < 2; ++part) {
    sleep_a_little(work, part);
    work.pending(Payload(longer(work, activity_of(work) + "." + std::to_string(part))));
  }
  sleep_a_little(work, 2);
  return Reply::success(longer(work, activity_of(work)));
}

Reply refuse(Work& work, int code) {
  sleep_a_little(work, 0);
  return Reply::error(longer(work, activity_of(work) + "!"), code);
}

}  // namespace

std::vector<Result<AppText>> build_graphs() {
  return {
      GraphBuilder("chain")
          .trigger("t")
          .worker("one", "chain.one")
          .after("t")
          .worker("two", "chain.two")
          .after("one")
          .worker("three", "chain.three")
          .after("two")
          .build(),
      GraphBuilder("fan")
          .trigger("t")
          .worker("left", "fan.left")
          .after("t")
          .worker("mid", "fan.mid")
          .after("t")
          .worker("right", "fan.right")
          .after("t")
          .worker("leaf", "fan.leaf")
          .after("left")
          .result_of("leaf")
          .build(),
      GraphBuilder("pend")
          .trigger("t")
          .worker("ship", "pend.ship")
          .after("t")
          .worker("note", "pend.note")
          .after("ship")
          .result_of("ship")
          .build(),
      GraphBuilder("caught")
          .trigger("t")
          .worker("risky", "caught.risky")
          .after("t")
          .worker("refund", "caught.refund")
          .after("risky", Condition::code(402))
          .worker("never", "caught.never")
          .after("risky")
          .build(),
      GraphBuilder("doomed")
          .trigger("t")
          .worker("fatal", "doomed.fatal")
          .after("t")
          .worker("side", "doomed.side")
          .after("t")
          .worker("never", "doomed.never")
          .after("fatal")
          .build(),
  };
}

const char* const app_text = R"(
app:
  id: tide
  version: 1
  graphs:
    - subscribes: tide.await
      activities:
        start: {type: trigger}
        await: {type: await, topic: tide.work, input: {maps: {word: "{start.output.data.word}"}}}
        after: {type: worker, topic: tide.after, input: {maps: {word: "{await.output.data.worked}"}}, job: {maps: {said: "{$self.output.data.word}"}}}
      transitions: {start: [{to: await}], await: [{to: after}]}
    - subscribes: tide.call
      activities:
        begin: {type: trigger}
        call: {type: await, topic: tide.wait, input: {maps: {word: "{begin.output.data.word}"}}, job: {maps: {heard: "{$self.output.data.heard}"}}}
        before: {type: worker, topic: tide.before, input: {maps: {word: "{begin.output.data.word}"}}}
        tell: {type: signal, topic: told, signal: {maps: {to: "{begin.output.data.word}", word: "{before.output.data.word}"}}}
      transitions: {begin: [{to: call}, {to: before}], before: [{to: tell}]}
    - subscribes: tide.leave
      activities:
        enter: {type: trigger}
        leave: {type: await, topic: tide.wait, await: false, input: {maps: {word: "{enter.output.data.word}"}}}
        shout: {type: signal, topic: told, signal: {maps: {to: "{enter.output.data.word}", word: "{enter.output.data.word}"}}}
      transitions: {enter: [{to: shout}, {to: leave}]}
    - subscribes: tide.work
      activities:
        asked: {type: trigger}
        work: {type: worker, topic: tide.work, input: {maps: {word: "{asked.output.data.word}"}}, job: {maps: {worked: "{$self.output.data.word}"}}}
      transitions: {asked: [{to: work}]}
    - subscribes: tide.wait
      activities:
        wanted: {type: trigger}
        wait: {type: hook, job: {maps: {heard: "{$self.hook.data.word}"}}}
        then: {type: worker, topic: tide.then, input: {maps: {word: "{wait.hook.data.word}"}}}
      transitions: {wanted: [{to: wait}], wait: [{to: then}]}
      hooks: {told: [{to: wait, conditions: {match: [{expected: "{wanted.output.data.word}", actual: "{$hook.data.to}"}]}}]}
)";

Status serve_all(Runtime& runtime, Journal& journal) {
  const auto journaled = [&journal](std::function<Reply(Work&)> inner) -> Worker {
    return [&journal, inner = std::move(inner)](Work& work) {
      journal.note(work, Journal::Phase::begin);
      Reply reply = inner(work);
      journal.note(work, Journal::Phase::end);
      return reply;
    };
  };
  for (const char* topic : {"chain.one", "chain.two", "chain.three", "fan.left", "fan.mid", "fan.right", "fan.leaf",
                            "pend.note", "caught.refund", "caught.never", "doomed.side", "doomed.never"})
    if (auto served = runtime.serve(topic, journaled(succeed)); !served) return served;
  const auto echo = [](Work& work) {
    sleep_a_little(work, 0);
    return Reply::success(work.input().str());
  };
  for (const char* topic : {"tide.after", "tide.before", "tide.work", "tide.then"})
    if (auto served = runtime.serve(topic, journaled(echo)); !served) return served;
  if (auto served = runtime.serve("pend.ship", journaled(report_twice)); !served) return served;
  if (auto served = runtime.serve("caught.risky", journaled([](Work& work) { return refuse(work, 402); })); !served)
    return served;
  return runtime.serve("doomed.fatal", journaled([](Work& work) { return refuse(work, 500); }));
}

}  // namespace pawl::storm
