// cron: when a cron expression fires next, as seconds from now.
#include "mapping/cron.h"
#include "mapping/calendar.h"
#include "mapping/functions/operands.h"

#include <algorithm>
#include <cmath>

namespace pawl::mapping {

namespace {

constexpr double delay_seconds_min = 1;
constexpr double delay_seconds_min_hotmesh = 5;  // HotMesh's timers are no finer

Result<Operand> next_delay(Call& call, Operands operands) {
  const boost::json::string* text = operands[0].value().if_string();
  if (text == nullptr) return Operand::number(-1);
  const auto schedule = CronSchedule::parse(*text);
  if (!schedule) return schedule.error();
  const DateMillis now = date_of(call.data.now);
  const auto next = schedule->next_after(now);
  if (!next) return Error{ErrorCode::invalid, "the cron expression never fires"};
  const double least = call.compat_hotmesh ? delay_seconds_min_hotmesh : delay_seconds_min;
  return Operand::number(std::max(least, std::round((*next - now) / 1000)));
}

// The search for the next tick is bounded (cron.h), but it is the most expensive function here.
Result<Operand> charged_next_delay(Call& call, Operands operands) {
  constexpr std::uint64_t search_steps = 1'000;
  if (!call.budget.spend_steps(search_steps)) return Operand();
  return next_delay(call, operands);
}

constexpr Function table[] = {{"cron.nextDelay", 1, 1, Work::scans, charged_next_delay}};

}  // namespace

std::span<const Function> cron_functions() { return table; }

}  // namespace pawl::mapping
