// The whole life of an activity (docs/LIFE.md), one job for each part of it: retries, a long attempt, a reply that
// comes later, an unknown effect, a pause, and times.
#include <pawl/pawl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

void check(const pawl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", to_string(status.error()).c_str());
  std::exit(1);
}

template <class Value>
Value check(pawl::Result<Value> result) {
  if (!result) check(pawl::Status(result.error()));
  return std::move(*result);
}

// A graph of one activity, which has the name of its graph.
pawl::AppText one_step(const std::string& name, const std::function<void(pawl::GraphBuilder&)>& policy) {
  pawl::GraphBuilder builder(name);
  builder.trigger("asked").worker(name, name).after("asked");
  policy(builder);
  return check(builder.build());
}

pawl::Job<> begin(pawl::Runtime& runtime, const std::string& graph, pawl::StartOptions options = {}) {
  options.id = graph + "-1";
  return check(runtime.start(graph, pawl::Payload("{}"), options));
}

void show_end(const char* what, const pawl::Job<>& job) {
  const pawl::JobView end = check(job.wait(30s));
  std::printf("%-14s %-11s %s\n", what, std::string(name_of(end.status)).c_str(),
              end.status == pawl::JobStatus::completed ? end.result.str().c_str() : end.reason.c_str());
}

// --- retries: two attempts fail, the third one succeeds. Each waits twice as long as the one before.
void retries(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("charge", [](auto& activity) {
    activity.retry(pawl::Retry().attempts(5).first_delay(10ms).growth(2).longest_delay(1s).never_on({400, 404}));
  })));
  static std::atomic<int> tries{0};
  check(runtime.serve("charge", [](pawl::Work&) {
    if (++tries < 3) return pawl::Reply::error("\"no connection\"", 503);
    return pawl::Reply::success("{\"tries\":" + std::to_string(tries) + "}");
  }));
  show_end("retried", begin(runtime, "charge"));
}

// --- a long attempt: it stores its progress, and stops sending heartbeats half way. The next attempt continues from
// there.
void heartbeat(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("encode", [](auto& activity) {
    activity.retry(pawl::Retry().attempts(3).first_delay(1ms)).timeouts(pawl::Timeouts().heartbeat(200ms));
  })));
  check(runtime.serve("encode", [](pawl::Work& work) {
    const int before = work.progress().empty() ? 0 : std::stoi(work.progress().str());
    for (int frame = before; frame < 10; ++frame) {
      if (work.cancelled()) return pawl::Reply::fatal("\"stopped\"");  // its reply is no longer needed
      work.heartbeat(pawl::Payload(std::to_string(frame + 1)));
      if (before == 0 && frame == 5)
        while (!work.cancelled()) std::this_thread::sleep_for(1ms);  // it hangs, until its time is over
    }
    return pawl::Reply::success("{\"began_at_frame\":" + std::to_string(before) + "}");
  }));
  show_end("went on", begin(runtime, "encode"));
}

// --- a later reply: the worker gives the token away and its thread back.
void later(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("approve", [](auto&) {})));
  static std::promise<std::string> token;
  check(runtime.serve("approve", [](pawl::Work& work) {
    token.set_value(work.token());
    return pawl::Reply::later(2h);  // after that the work is handed out again, under a new token
  }));
  const pawl::Job<> job = begin(runtime, "approve");
  check(runtime.complete(token.get_future().get(), pawl::Reply::success("{\"by\":\"a person\"}")));
  show_end("answered later", job);
}

// --- at most once: the first attempt took too long, so its effect is unknown. The probe finds it out.
void at_most_once(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("pay", [](auto& activity) {
    activity.timeouts(pawl::Timeouts().attempt(100ms)).at_most_once(pawl::WhenUnknown::ask_probe);
  })));
  static std::atomic<bool> paid{false};
  check(runtime.serve("pay", [](pawl::Work& work) {
    paid = true;
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);  // the bank never answers
    return pawl::Reply::error("\"no answer\"");
  }));
  check(runtime.probe("pay", [](const pawl::Work&) {
    return paid ? pawl::Finding::done(pawl::Payload("{\"paid\":\"says the bank\"}")) : pawl::Finding::not_done();
  }));
  show_end("paid once", begin(runtime, "pay"));
}

// --- a pause: a running attempt continues, and its reply is kept until the job is resumed.
void pause(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("pack", [](auto&) {})));
  static std::promise<void> began;
  static std::promise<void> go_on;
  check(runtime.serve("pack", [](pawl::Work&) {
    began.set_value();
    go_on.get_future().wait();
    return pawl::Reply::success("{\"packed\":true}");
  }));
  const pawl::Job<> job = begin(runtime, "pack");
  began.get_future().wait();
  check(job.pause("the customer called"));
  go_on.set_value();
  std::printf("%-14s %s\n", "", job.wait(100ms).ok() ? "the pause was ignored" : "paused, and kept");
  check(job.resume());
  show_end("resumed", job);
}

// --- times of a job: it starts later, and is interrupted if it takes too long.
void deadline(pawl::Runtime& runtime) {
  check(runtime.deploy(one_step("wait", [](auto&) {})));
  check(runtime.serve("wait", [](pawl::Work& work) {
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    return pawl::Reply::error("\"stopped\"");
  }));
  show_end("out of time", begin(runtime, "wait", {.delay = 50ms, .end_within = 100ms}));
}

}  // namespace

int main(int argc, char** argv) {
  pawl::Runtime runtime = check(pawl::open(argc > 1 ? argv[1] : ":memory:"));
  retries(runtime);
  heartbeat(runtime);
  later(runtime);
  at_most_once(runtime);
  pause(runtime);
  deadline(runtime);
  runtime.stop();
  return 0;
}
