#include "graph/check/visit.h"

#include "base/invariant.h"

namespace pawl::graph {
namespace {

struct Visitor {
  const VisitFormula& visit;

  void one(const OptionalFormula& formula, Role role) const {
    if (formula) visit(*formula, role);
  }
  void channel(const Channel& channel, Role role) const {
    one(channel.maps, role);
    for (const auto& coded : channel.maps_by_code) visit(coded.second, role);
  }

  void operator()(const Trigger& kind) const {
    one(kind.stats.id, Role::before);
    one(kind.stats.key, Role::before);
    one(kind.stats.parent, Role::before);
    one(kind.stats.adjacent, Role::before);
    for (const Measurement& measurement : kind.stats.measures) one(measurement.target, Role::before);
    one(kind.entity, Role::before);
  }
  void operator()(const Worker& kind) const { visit(kind.topic, Role::before); }
  void operator()(const Await& kind) const {
    visit(kind.topic, Role::before);
    one(kind.await, Role::before);
  }
  void operator()(const Hook& kind) const {
    one(kind.sleep, Role::before);
    one(kind.escalation, Role::before);
    for (const HookMatch& match : kind.matches) {
      visit(match.expected, Role::before);
      visit(match.actual, Role::payload);
    }
  }
  void operator()(const Signal& kind) const {
    visit(kind.topic, Role::before);
    channel(kind.payload, Role::before);
    channel(kind.resolver, Role::before);
    one(kind.code, Role::before);
    one(kind.key_name, Role::before);
    one(kind.key_value, Role::before);
    one(kind.scrub, Role::before);
  }
  void operator()(const Cycle&) const {}
  void operator()(const Interrupt& kind) const {
    for (const OptionalFormula* formula :
         {&kind.target, &kind.topic, &kind.reason, &kind.code, &kind.throws, &kind.descend, &kind.stack, &kind.expire})
      one(*formula, Role::before);
  }
  void operator()(const Join&) const {}
  void operator()(const Map& kind) const {
    visit(kind.items, Role::before);
    one(kind.parallel, Role::before);
    one(kind.collect, Role::collect);
  }
};

}  // namespace

void visit_formulas(const Activity& activity, const VisitFormula& visit) {
  const Visitor visitor{visit};
  std::visit(visitor, activity.kind);
  visitor.channel(activity.input, Role::before);
  visitor.channel(activity.output, Role::after);
  visitor.channel(activity.job, Role::after);
  visitor.one(activity.telemetry, Role::after);
  visitor.one(activity.emit, Role::after);
  visitor.one(activity.persist, Role::after);
  visitor.one(activity.status_threshold, Role::before);
  visitor.one(activity.timeout, Role::before);
}

void visit_formulas(const Transition& transition, const VisitFormula& visit) {
  for (const Match& match : transition.matches) {
    visit(match.actual, Role::after);
    if (const auto* expected = std::get_if<Formula>(&match.expected)) visit(*expected, Role::after);
  }
}

}  // namespace pawl::graph
