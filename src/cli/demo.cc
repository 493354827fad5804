// pawl demo: a sample job on the embedded store, shown as it happens. Kill it at any moment and run it again: it
// continues with the job it finds.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/commands.h"
#include "cli/job_report.h"
#include "cli/terminal.h"
#include "pawl/pawl.h"

namespace pawl::cli {

namespace {

struct DemoOptions {
  std::string store = "pawl-demo.db";
  std::string job;
  int milliseconds = 60;
  bool no_fusion = false;
  bool no_color = false;
};

GraphBuilder order_graph() {
  return GraphBuilder("order")
      .trigger("received")
      .worker("score", "fraud.score")
      .after("received")
      .worker("reserve", "stock.reserve")
      .after("received")
      .worker("charge", "payments.charge")
      .after("reserve")
      .worker("ship", "shipping.ship")
      .after("charge")
      .worker("refuse", "orders.refuse")
      .after("charge", Condition::code(402))
      .worker("notify", "mail.send")
      .after("ship")
      .result_of("ship");
}

Status serve_all(Runtime& runtime, std::chrono::milliseconds pace) {
  const auto paced = [pace](Payload output) {
    return [pace, output](Work&) {
      std::this_thread::sleep_for(pace);
      return Reply::success(output);
    };
  };
  // Shipping reports twice before it is done: each report opens a new plane for `notify`.
  const auto ship = [pace](Work& work) {
    for (const char* progress : {R"({"parcel":"packed"})", R"({"parcel":"on the road"})"}) {
      std::this_thread::sleep_for(pace);
      work.pending(Payload(progress));
    }
    std::this_thread::sleep_for(pace);
    return Reply::success(R"({"parcel":"delivered"})");
  };
  for (const auto& served :
       {runtime.serve("fraud.score", paced(R"({"score":3})")), runtime.serve("stock.reserve", paced(R"({"shelf":17})")),
        runtime.serve("payments.charge", paced(R"({"paid":true})")),
        runtime.serve("orders.refuse", paced(R"({"refused":true})")),
        runtime.serve("mail.send", paced(R"({"sent":true})")), runtime.serve("shipping.ship", ship)})
    if (!served) return served;
  return {};
}

void show(const Event& event, const Paint& paint) {
  using Kind = Event::Kind;
  const auto time = std::chrono::system_clock::time_point(std::chrono::microseconds(event.at.micros()));
  const auto micros = event.at.micros() % 1'000'000;
  std::string what;
  switch (event.kind) {
    case Kind::job_started:
      what = paint(Ink::bold, "job started");
      break;
    case Kind::activity_opened:
      what = paint(Ink::blue, "leg 1: request enqueued");
      break;
    case Kind::activity_pending:
      what = paint(Ink::cyan, "leg 2: pending reply");
      break;
    case Kind::activity_closed:
      what = paint(Ink::green, fmt::format("leg 2: concluded, code {}", event.code));
      break;
    case Kind::job_closed:
      what = paint(Ink::bold, "job closed, completion tasks done");
      break;
    case Kind::job_parked:
      what = paint(Ink::red, "job parked");
      break;
    case Kind::activity_retried:
      what = paint(Ink::yellow, fmt::format("try failed with code {}, again later", event.code));
      break;
    case Kind::activity_unknown:
      what = paint(Ink::red, "nobody knows whether it acted");
      break;
    case Kind::job_paused:
      what = paint(Ink::yellow, "job paused");
      break;
    case Kind::job_announced:
      what = paint(Ink::cyan, "announced");
      break;
    case Kind::job_resumed:
      what = paint(Ink::bold, "job goes on");
      break;
  }
  fmt::print("{:%H:%M:%S}.{:03}  {:<10} {:<10} {:<16} {}\n",
             fmt::gmtime(std::chrono::time_point_cast<std::chrono::seconds>(time)), micros / 1000, event.activity.raw(),
             event.address, event.ledger, what);
  std::fflush(stdout);
}

int fail_demo(const Error& error) {
  fmt::print(stderr, "pawl demo: {}\n", error.detail);
  return 1;
}

// The job to show: one that an earlier execution left open, or a new one.
Result<RunId> find_or_submit(Runtime& runtime, const DemoOptions& options, const Paint& paint) {
  JobFilter open_jobs;
  open_jobs.status = JobStatus::running;
  open_jobs.rows_max = 1;
  const auto left = runtime.list(open_jobs);
  if (!left) return left.error();
  if (!left->empty() && options.job.empty()) {
    fmt::print("{} found open in {}: carrying on with it\n\n", paint(Ink::bold, left->front().id.raw()), options.store);
    return left->front().run;
  }
  std::string id = options.job;
  if (id.empty())
    id = fmt::format(
        "order-{}",
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  auto submitted = runtime.start("order", Payload(R"({"item":"pawl","count":1})"), {.id = id});
  if (!submitted) return submitted.error();
  fmt::print("{} {} in {}\n\n", paint(Ink::bold, id), submitted->created() ? "accepted and durable" : "exists already",
             options.store);
  return submitted->run();
}

int run_demo(const DemoOptions& options) {
  const Paint paint = Paint::for_stdout(!options.no_color);
  auto opened = pawl::open({.store = options.store, .fusion = !options.no_fusion});
  if (!opened) return fail_demo(opened.error());
  Runtime& runtime = *opened;
  if (const auto deployed = runtime.deploy(order_graph()); !deployed) return fail_demo(deployed.error());
  if (const auto served = serve_all(runtime, std::chrono::milliseconds(options.milliseconds)); !served)
    return fail_demo(served.error());
  runtime.observe([&](const Event& event) { show(event, paint); }).keep();
  runtime.on_problem([](const std::string& text) { fmt::print(stderr, "pawl demo: {}\n", text); }).keep();
  if (const auto started = runtime.launch(); !started) return fail_demo(started.error());

  const auto run = find_or_submit(runtime, options, paint);
  if (!run) return fail_demo(run.error());
  const auto end = runtime.job(*run).wait(std::chrono::minutes(10));
  if (!end) return fail_demo(end.error());
  const auto detail = runtime.job(*run).inspect();
  if (!detail) return fail_demo(detail.error());
  fmt::print("\n{}", job_report(*detail, {.ledger = true}, paint));
  runtime.stop();
  if (options.store != ":memory:")
    fmt::print("\nIt is all in {}: sqlite3 {} 'select job_id, place, ledger, status from activity_view'\n",
               options.store, options.store);
  return end->status == JobStatus::completed ? 0 : 1;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  CLI::App* demo = app.add_subcommand("demo", "Run a sample job on the embedded store and show each step");
  demo->add_option("--store", options->store, "The SQLite file to use, or :memory:")->capture_default_str();
  demo->add_option("--job", options->job, "The job's id (default: a new one, or one that was left open)");
  demo->add_option("--pace", options->milliseconds, "Milliseconds that each worker takes")
      ->capture_default_str()
      ->check(CLI::Range(0, 60'000));
  demo->add_flag("--no-fusion", options->no_fusion, "Commit every step alone");
  demo->add_flag("--no-color", options->no_color, "No colours");
  demo->callback([options, &exit_code] { exit_code = run_demo(*options); });
}

}  // namespace pawl::cli
