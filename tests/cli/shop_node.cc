// The program of tests/cli/operations: it serves the topics of a shop until it is told to stop. While a file `outage`
// is in its folder, the payment service refuses some orders and answers nonsense for others. Each charge is a line in
// the file `charges`: the order's number, the key and the attempt.
//
//   shop_node STORE FOLDER
#include <pawl/pawl.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

namespace {

constexpr int refused_every = 40;    // of 10,000 orders: 250
constexpr int nonsense_every = 100;  // and 100

std::uint64_t number_in(const std::string& input) {
  const auto at = input.find_first_of("0123456789");
  return at == std::string::npos ? 0 : std::strtoull(input.c_str() + at, nullptr, 10);
}

class Payments {
 public:
  explicit Payments(std::string folder)
      : folder_(std::move(folder)), lines_(std::fopen((folder_ + "/charges").c_str(), "a")) {}
  ~Payments() {
    if (lines_ != nullptr) std::fclose(lines_);
  }

  pawl::Reply charge(pawl::Work& work) {
    const std::uint64_t order = number_in(work.input().str());
    {
      const std::lock_guard lock(mutex_);
      std::fprintf(lines_, "%llu %s %u\n", static_cast<unsigned long long>(order), work.key().c_str(), work.attempt());
      std::fflush(lines_);
    }
    const bool outage = std::filesystem::exists(folder_ + "/outage");
    if (outage && order % refused_every == 0) return pawl::Reply::fatal(R"({"message":"connection refused"})", 503);
    if (outage && order % nonsense_every == 1) return pawl::Reply::success(R"({"paid":"perhaps"})");
    return pawl::Reply::success(R"({"paid":true})");
  }
  bool is_ready() const { return lines_ != nullptr; }

 private:
  const std::string folder_;
  std::FILE* const lines_;
  std::mutex mutex_;  // guards lines_
};

int fail(const pawl::Error& error) {
  std::fprintf(stderr, "shop_node: %s\n", pawl::to_string(error).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the runtime's threads begin, which inherit it
  Payments payments(argv[2]);
  if (!payments.is_ready()) return 2;
  auto runtime = pawl::open({.store = argv[1]});
  if (!runtime) return fail(runtime.error());
  const auto priced = runtime->serve("price", [](pawl::Work&) { return pawl::Reply::success("{}"); });
  if (!priced) return fail(priced.error());
  const auto charged = runtime->serve("charge", [&](pawl::Work& work) { return payments.charge(work); });
  if (!charged) return fail(charged.error());
  if (const auto launched = runtime->launch(); !launched) return fail(launched.error());
  int signal = 0;
  sigwait(&ends, &signal);
  runtime->stop();
  return 0;
}
