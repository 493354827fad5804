// A payment service in your own program, typed from end to end. Run it, kill it, run it again: finished work is not
// repeated, and a card is charged once.
#include <pawl/pawl.h>
#include <pawl_boost/json.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// What the program speaks of. One line describes a struct; Pawl keeps it as JSON.
struct Line {
  std::string item;
  int count = 1;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Line, (), (item, count, cents))

struct Order {
  std::string customer;
  std::vector<Line> lines;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, lines))

struct Receipt {
  std::string customer;
  int cents = 0;
  std::string payment;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (customer, cents, payment))

struct Refusal {
  std::string customer;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (customer, cents))

namespace {

constexpr int limit_cents = 100'000;

int total(const Order& order) {
  int cents = 0;
  for (const Line& line : order.lines) cents += line.count * line.cents;
  return cents;
}

// A worker is a function of your own types. The key is the same for every attempt of this activity: a bank that is
// given it charges once.
Receipt charge(const Order& order, pawl::Work& work) {
  const int cents = total(order);
  if (cents > limit_cents)
    throw pawl::Failure{.code = 402, .message = "the card was declined", .retryable = false}.with(
        Refusal{order.customer, cents});
  return {order.customer, cents, "payment-" + work.key().substr(0, 8)};
}

Receipt ship(const Receipt& receipt) { return receipt; }

pawl::GraphBuilder order_graph() {
  return pawl::GraphBuilder("order")
      .trigger("received")
      .worker("charge", "payments.charge")
      .after("received")
      .worker("ship", "shipping.ship")
      .after("charge");
}

int fail(const pawl::Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto runtime = pawl::open(argc > 1 ? argv[1] : "orders.db");
  if (!runtime) return fail(runtime.error());
  if (auto deployed = runtime->deploy(order_graph()); !deployed) return fail(deployed.error());
  if (auto served = runtime->serve("payments.charge", charge); !served) return fail(served.error());
  if (auto served = runtime->serve("shipping.ship", ship); !served) return fail(served.error());

  // Started means durable. The id is unique: starting it again finds the same job.
  const Order order{"Ann", {{"book", 2, 1250}, {"pen", 1, 199}}};
  auto job = runtime->start<Receipt>("order", order, {.id = "order-17"});
  if (!job) return fail(job.error());
  auto receipt = job->result(30s);
  if (!receipt) return fail(receipt.error());
  std::printf("%s: %s paid %d cents\n", job->created() ? "just now" : "earlier", receipt->customer.c_str(),
              receipt->cents);

  // An order that is too large fails with what the worker said.
  auto large = runtime->start<Receipt>("order", Order{"Bob", {{"car", 1, 900'000}}}, {.id = "order-18"});
  if (!large) return fail(large.error());
  if (large->result(30s)) return fail({pawl::ErrorCode::invalid, "the large order was paid"});
  const auto failure = large->failure();
  if (!failure || !*failure) return fail({pawl::ErrorCode::invalid, "there is no failure"});
  const auto refusal = (*failure)->data_as<Refusal>();
  if (!refusal) return fail(refusal.error());
  std::printf("%s: %s, %d cents\n", refusal->customer.c_str(), to_string(**failure).c_str(), refusal->cents);
  return 0;
}
