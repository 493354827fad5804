// A program outside the tree: one job over an SQLite file, with the installed files.
#include <chrono>
#include <cstdio>

#include <pawl/pawl.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto opened = pawl::Runtime::open({.store = argv[1]});
  if (!opened) return 3;
  pawl::Runtime& runtime = **opened;
  auto graph = pawl::GraphBuilder("hello").trigger("t").worker("greet", "greet").after("t").build();
  if (!graph || !runtime.deploy(std::move(*graph))) return 4;
  const auto greet = [](pawl::Work& work) { return pawl::Reply::success("hello " + work.input().str()); };
  if (!runtime.serve("greet", greet) || !runtime.start()) return 5;
  const auto job = runtime.submit({.graph = "hello", .id = "first", .input = "world"});
  if (!job) return 6;
  const auto end = runtime.wait(job->run, std::chrono::seconds(20));
  if (!end) return 7;
  std::printf("%s\n", end->result.str().c_str());
  return 0;
}
