// Tests of a workflow, without any test framework: an order is charged, waits for approval or a day, and is shipped.
// Nothing here sleeps. The last part crashes the workflow at each of its commits.
#include <pawl/testing.h>

#include <chrono>
#include <cstdio>
#include <set>
#include <string>

namespace {

using namespace std::chrono_literals;
using pawl::testing::TestRuntime;

int failures = 0;

void check(bool ok, const std::string& what) {
  std::printf("%s %s\n", ok ? "passed" : "FAILED", what.c_str());
  if (!ok) ++failures;
}

pawl::Status deploy_order(pawl::Runtime& runtime) {
  auto graph = pawl::GraphBuilder("order")
                   .trigger("received")
                   .worker("charge", "payments.charge")
                   .retry(pawl::Retry().attempts(5).first_delay(10s).jitter(0))
                   .after("received")
                   .worker("ship", "shipping.ship")
                   .after("charge");
  if (auto deployed = runtime.deploy(graph); !deployed) return deployed.error();
  return {};
}

// The outside world of this test. The bank carries out a charge once per key.
class Bank {
 public:
  void charge(const std::string& key) {
    if (keys_.insert(key).second) ++charged;
  }
  void charge_without_key() { ++charged; }
  int charged = 0;

 private:
  std::set<std::string> keys_;
};

void retries_wait_for_their_time() {
  TestRuntime test;
  if (!deploy_order(test.runtime())) return check(false, "the order is deployed");
  auto& charge = test.mock("payments.charge").fails(2, 503).replies("{\"receipt\": 17}");
  auto& ship = test.mock("shipping.ship");
  const auto job = test->start("order", pawl::Payload("{}"), {.id = "order-1"});
  if (!job || !test.run_until_idle()) return check(false, "the order is submitted");
  check(charge.attempts().size() == 1, "the first attempt fails, the second one waits");
  if (!test.advance(10s)) return check(false, "ten seconds pass");
  check(charge.attempts().size() == 2, "after ten seconds there is another one");
  if (!test.run_to_end()) return check(false, "it comes to its end");
  check(charge.attempts().size() == 3 && charge.requests() == 1, "three attempts of one charge");
  check(ship.attempts().front().input.str() == "{\"receipt\": 17}", "shipping sees the receipt");
}

void an_order_waits_for_its_approval(const std::string& app) {
  TestRuntime test;
  if (!test->deploy(pawl::AppFile{app})) return check(false, "the app is deployed");
  test.mock("payments.charge").replies("{\"receipt\": 17}");
  const auto job = test->start("order.placed", pawl::Payload("{\"sum\": 20}"), {.id = "order-2"});
  if (!job) return check(false, "the order is submitted: " + to_string(job.error()));
  test.signal_after(3h, "order.approved", "{\"order\": \"order-2\", \"by\": \"Ann\"}");
  const auto begin = test.now();
  const auto end = job->wait(24h);
  check(end.ok() && end->data.str() == "{\"by\":\"Ann\",\"receipt\":17}", "Ann approves the order, and it is charged");
  check(test.now() - begin == 3h, "after three hours that took no time");
}

pawl::Status crash_scenario(TestRuntime& test, bool uses_key) {
  Bank bank;  // everything is new for each execution
  if (auto deployed = deploy_order(test.runtime()); !deployed) return deployed;
  auto served = test->serve("payments.charge", [&](pawl::Work& work) {
    if (uses_key)
      bank.charge(work.key());
    else
      bank.charge_without_key();
    return pawl::Reply::success("{}");
  });
  if (!served) return served;
  test.mock("shipping.ship").replies("\"shipped\"");
  if (const auto job = test->start("order", pawl::Payload("{}"), {.id = "order-3"}); !job) return job.error();
  if (auto ran = test.run_to_end(); !ran) return ran;
  test.note("charged", bank.charged);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s order.yaml\n", argv[0]);
    return 2;
  }
  retries_wait_for_their_time();
  an_order_waits_for_its_approval(argv[1]);
  const auto careful = pawl::testing::crash_everywhere([](TestRuntime& test) { return crash_scenario(test, true); });
  check(careful.ok(), "a charge with its key happens once, whatever crashes");
  const auto careless = pawl::testing::crash_everywhere([](TestRuntime& test) { return crash_scenario(test, false); });
  check(!careless.ok(), "a charge without its key is found:");
  std::printf("%s", careless.text().c_str());
  return failures == 0 ? 0 : 1;
}
