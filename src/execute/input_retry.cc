// Under compat: hotmesh a worker's request may contain a retry policy, as in HotMesh's code workflows.
#include <boost/json/object.hpp>
#include <cmath>

#include "execute/documents.h"
#include "execute/program.h"
#include "execute/values.h"
#include "graph/read/reader.h"

namespace pawl::execute {
namespace {

// HotMesh's defaults for what a policy leaves out.
constexpr double initial_default = 1;
constexpr double coefficient_default = 10;
constexpr double longest_default = 120;
constexpr double attempts_limit = 1'000'000;
constexpr double seconds_limit = 366.0 * 86400;

// Seconds as a number or as a text such as "30s".
double number_in(const json::object& policy, std::string_view key, double otherwise) {
  const json::value* found = policy.if_contains(key);
  if (found == nullptr) return otherwise;
  if (found->is_number()) return found->to_number<double>();
  if (!found->is_string()) return otherwise;
  return graph::parse_seconds(view(found->get_string())).value_or(otherwise);
}

double within(double number, double least, double most) {
  return std::isfinite(number) ? std::min(std::max(number, least), most) : least;
}

Duration seconds_of(double seconds) {
  return Duration(static_cast<std::int64_t>(within(seconds, 0, seconds_limit) * 1'000'000));
}

}  // namespace

std::optional<Retry> GraphProgram::retry(const Payload& request) const {
  if (app().dialect != graph::Dialect::hotmesh || request.empty()) return std::nullopt;
  const auto parsed = document_of(request);
  const json::object* policy = parsed->if_object();
  const json::value* attempts = policy == nullptr ? nullptr : policy->if_contains("maximumAttempts");
  if (attempts == nullptr || !attempts->is_number()) return std::nullopt;
  const double coefficient = within(number_in(*policy, "backoffCoefficient", coefficient_default), 1, 1000);
  // In HotMesh the first pause already includes one step of growth.
  return Retry()
      .attempts(static_cast<std::uint32_t>(within(attempts->to_number<double>(), 1, attempts_limit)))
      .first_delay(seconds_of(number_in(*policy, "initialInterval", initial_default) * coefficient))
      .growth(coefficient)
      .longest_delay(seconds_of(number_in(*policy, "maximumInterval", longest_default)))
      .jitter(0)
      .when_exhausted(WhenExhausted::fail);
}

}  // namespace pawl::execute
