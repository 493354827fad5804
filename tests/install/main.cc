// A program outside the tree: typed jobs over an SQLite file, by what is installed.
#include <pawl/pawl.h>
#ifdef BY_NLOHMANN
#include <pawl_nlohmann/json.h>
#else
#include <pawl_boost/json.h>
#endif

#include <chrono>
#include <cstdio>
#include <string>

struct Greeting {
  std::string name;
  int times = 1;
};
#ifdef BY_NLOHMANN
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Greeting, name, times)
#else
BOOST_DESCRIBE_STRUCT(Greeting, (), (name, times))
#endif

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto runtime = pawl::open(argv[1]);
  if (!runtime) return 3;
  auto graph = pawl::GraphBuilder("hello").trigger("t").worker("greet", "greet").after("t").build();
  if (!graph || !runtime->deploy(std::move(*graph))) return 4;
  const auto greet = [](const Greeting& whom) { return "hello " + whom.name; };
  if (!runtime->serve("greet", greet)) return 5;
  auto job = runtime->start<std::string>("hello", Greeting{"world"}, {.id = "first"});
  if (!job) return 6;
  const auto text = job->result(std::chrono::seconds(20));
  if (!text) return 7;
  std::printf("%s\n", text->c_str());
  return 0;
}
