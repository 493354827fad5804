// A job under collation duplex: every step is one small operation that may be repeated, and 15 digits show the state of
// each activity. docs/LEDGER.md decodes them, docs/GUARANTEES.md lists the promises.
#include <pawl/pawl.h>

#include <chrono>
#include <cstdio>

namespace {

int fail(const pawl::Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto graph = pawl::GraphBuilder("delivery")
                   .collation(pawl::Collation::duplex)
                   .trigger("ordered")
                   .worker("pack", "store.pack")
                   .after("ordered")
                   .worker("send", "post.send")
                   .after("pack")
                   .build();
  if (!graph) return fail(graph.error());
  auto runtime = pawl::open(argc > 1 ? argv[1] : "deliveries.db");
  if (!runtime) return fail(runtime.error());
  if (auto deployed = runtime->deploy(std::move(*graph)); !deployed) return fail(deployed.error());

  // A worker that sends pending replies: each parcel is sent separately.
  (void)runtime->serve("store.pack", [](pawl::Work& work) {
    work.pending(pawl::Payload("first parcel"));
    return pawl::Reply::success("second parcel");
  });
  (void)runtime->serve("post.send",
                       [](pawl::Work& work) { return pawl::Reply::success(work.input().str() + " sent"); });
  auto job = runtime->start("delivery", pawl::Payload("two books"), {.id = "order-17"});
  if (!job) return fail(job.error());
  auto end = job->wait(std::chrono::seconds(30));
  if (!end) return fail(end.error());
  auto detail = job->inspect();
  if (!detail) return fail(detail.error());
  for (const pawl::ActivityView& activity : detail->activities)
    std::printf("%-8s %-8s %s  %s\n", activity.name.raw().c_str(), activity.address.c_str(), activity.ledger.c_str(),
                activity.explanation.c_str());
  runtime->stop();
  return 0;
}
