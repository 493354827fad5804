// Durable work in your own program: run it, kill it, run it again. Finished work is not repeated.
#include <pawl/pawl.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

int fail(const pawl::Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto graph = pawl::GraphBuilder("greet")
                   .trigger("asked")
                   .worker("look_up", "people.look_up")
                   .after("asked")
                   .worker("greet", "mail.greet")
                   .after("look_up")
                   .worker("apologise", "mail.apologise")
                   .after("look_up", pawl::Condition::code(404))
                   .build();
  if (!graph) return fail(graph.error());

  auto runtime = pawl::Runtime::open({.store = argc > 1 ? argv[1] : "greetings.db"});
  if (!runtime) return fail(runtime.error());
  if (auto deployed = (*runtime)->deploy(std::move(*graph)); !deployed) return fail(deployed.error());

  // Workers are functions. `idempotency_key()` is the same for every attempt of one activity: pass it to every system
  // that must not act twice.
  (void)(*runtime)->serve("people.look_up", [](pawl::Work& work) {
    if (work.input().view() == "\"nobody\"") return pawl::Reply::error("\"unknown\"", 404);
    return pawl::Reply::success(work.input());
  });
  (void)(*runtime)->serve("mail.greet", [](pawl::Work& work) {
    const std::string name(work.input().view());
    return pawl::Reply::success("\"hello, " + name.substr(1));
  });
  (void)(*runtime)->serve("mail.apologise", [](pawl::Work&) { return pawl::Reply::success("\"sorry\""); });
  if (auto started = (*runtime)->start(); !started) return fail(started.error());

  // Accepted means durable. The id is unique: submitting it again finds the same job.
  auto job = (*runtime)->submit({.graph = "greet", .id = "greet-pawl", .input = "\"pawl\""});
  if (!job) return fail(job.error());
  auto end = (*runtime)->wait(job->run, std::chrono::seconds(30));
  if (!end) return fail(end.error());
  std::printf("%s greeted: %s\n", job->created ? "just now" : "earlier", end->result.str().c_str());
  (*runtime)->stop();
  return 0;
}
