#include "pawl/testing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "testing/virtual_runtime.h"

namespace pawl::testing {

TestRuntime::TestRuntime(TestOptions options)
    : backend_(std::make_shared<VirtualRuntime>(options, PlannedFault{})), runtime_(backend_) {}
TestRuntime::TestRuntime(TestRuntime&&) noexcept = default;
TestRuntime& TestRuntime::operator=(TestRuntime&&) noexcept = default;
TestRuntime::~TestRuntime() = default;

Runtime& TestRuntime::runtime() { return runtime_; }
MockWorker& TestRuntime::mock(const std::string& topic) { return backend_->mock(topic); }

Instant TestRuntime::now() const { return backend_->driver().clock().now(); }
Status TestRuntime::run_until_idle() { return backend_->run_until_idle(); }
Status TestRuntime::advance(Duration by) { return backend_->advance(by); }
Status TestRuntime::run_to_end() { return backend_->run_to_end(); }

std::optional<Instant> TestRuntime::next_due() const {
  const auto next = backend_->next_due();
  if (!next) return std::nullopt;
  const VirtualClock& clock = backend_->driver().clock();
  return clock.now() + std::max(*next - clock.monotonic(), Duration{0});
}

void TestRuntime::call_after(Duration time, std::function<void()> what) { backend_->call_after(time, std::move(what)); }

void TestRuntime::signal_after(Duration time, const std::string& topic, Payload data, SignalOptions options) {
  VirtualRuntime* runtime = backend_.get();
  runtime->call_after(time, [=] {
    if (const auto sent = runtime->signal(topic, data, options); !sent)
      runtime->note_problem(format("signal {}: {}", topic, to_string(sent.error())));
  });
}

const std::vector<Attempt>& TestRuntime::attempts() const { return backend_->attempts(); }

std::vector<Attempt> TestRuntime::attempts_of(std::string_view activity) const {
  std::vector<Attempt> found;
  std::copy_if(attempts().begin(), attempts().end(), std::back_inserter(found),
               [&](const Attempt& attempt) { return attempt.activity == activity; });
  return found;
}

const std::vector<Event>& TestRuntime::events() const { return backend_->events(); }
const std::vector<std::string>& TestRuntime::problems() const { return backend_->problems(); }
std::uint64_t TestRuntime::commits() const { return backend_->driver().commits(); }
void TestRuntime::crash() { backend_->crash(); }
void TestRuntime::note(std::string name, std::string value) { backend_->note(std::move(name), std::move(value)); }

std::string TestRuntime::fault() const {
  const PlannedFault& fault = backend_->fault();
  return fault.commit == 0 ? std::string() : format("{} commit {}", name_of(fault.fault), fault.commit);
}

}  // namespace pawl::testing
