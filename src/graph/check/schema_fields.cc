// Finds {order.output.data.totl} when the schema of that output is closed and has no `totl`: such a reference can never
// read a value.
#include <unordered_map>

#include "base/format.h"
#include "graph/check/structure.h"
#include "graph/check/visit.h"

namespace pawl::graph {
namespace {

// Errors have no schema: activities that may read one are not checked.
bool leads_errors_on(const Graph& graph, ActivityIndex index) {
  constexpr int success = 200;
  constexpr int pending = 202;
  for (const std::uint32_t edge : graph.topology.places[index].out) {
    const Transition& transition = graph.transitions[edge];
    if (transition.on == Transition::On::anything || transition.any_error) return true;
    for (const int code : transition.codes)
      if (code != success && code != pending) return true;
  }
  return false;
}

class SchemaFields {
 public:
  SchemaFields(const Graph& graph, Mistakes& mistakes) : graph_(graph), mistakes_(mistakes) {
    for (ActivityIndex i = 0; i < graph.activities.size(); ++i) ids_.emplace(graph.activities[i].id, i);
  }

  void run() {
    const VisitFormula visit = [this](const Formula& formula, Role) { check(formula); };
    for (here_ = 0; here_ < graph_.activities.size(); ++here_) visit_formulas(graph_.activities[here_], visit);
    for (const Transition& transition : graph_.transitions) {
      here_ = transition.from;
      visit_formulas(transition, visit);
    }
  }

 private:
  struct Fields {
    const Schema* schema;
    std::size_t first;  // the part of the reference that is a field
    std::string what;
  };

  void check(const Formula& formula) {
    const auto& references = formula.expression.references();
    for (std::size_t i = 0; i < references.size(); ++i)
      if (const auto fields = fields_of(references[i])) check_one(references[i], *fields, formula.references[i]);
  }

  void check_one(const mapping::Reference& reference, const Fields& fields, const Where& where) {
    if (reference.parts.size() <= fields.first) return;
    const auto names = std::span(reference.parts).subspan(fields.first);
    const auto absent = fields.schema->find_absent(names);
    if (!absent) return;
    const std::vector<std::string_view> known(absent->known.begin(), absent->known.end());
    const std::string& name = names[absent->index];
    mistakes_.add({.code = Code::reference_not_in_schema,
                   .mark = where.mark,
                   .path = where.path,
                   .message = format("{} has no field '{}'{}", fields.what, name,
                                     known.empty() ? "" : format("; it has {}", any_of(known))),
                   .suggestion = nearest(name, known)});
  }

  std::optional<Fields> fields_of(const mapping::Reference& reference) const {
    using mapping::Scope;
    switch (reference.scope) {
      case Scope::job:
        if (reference.parts.empty() || reference.parts[0] != "data" || !graph_.output.schema) return std::nullopt;
        return Fields{graph_.output.schema.get(), 1, "the graph's output.schema"};
      case Scope::hook:
        if (reference.parts.empty() || reference.parts[0] != "data") return std::nullopt;
        return section_of(here_, "hook", 1);
      case Scope::self:
        return sections_of(here_, reference);
      case Scope::activity: {
        const auto found = ids_.find(reference.activity);
        return found == ids_.end() ? std::nullopt : sections_of(found->second, reference);
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<Fields> sections_of(ActivityIndex index, const mapping::Reference& reference) const {
    if (reference.parts.size() < 2 || reference.parts[1] != "data") return std::nullopt;
    return section_of(index, reference.parts[0], 2);
  }

  std::optional<Fields> section_of(ActivityIndex index, std::string_view section, std::size_t first) const {
    const Activity& activity = graph_.activities[index];
    const bool starts = std::holds_alternative<Trigger>(activity.kind);
    if (!starts && section != "input" && (leads_errors_on(graph_, index) || !activity.job.maps_by_code.empty()))
      return std::nullopt;
    const auto fields = [&](const SchemaPointer& schema, std::string_view key) -> std::optional<Fields> {
      if (!schema) return std::nullopt;
      return Fields{schema.get(), first, format("{} of '{}'", key, activity.id)};
    };
    if (starts && graph_.input.schema) return Fields{graph_.input.schema.get(), first, "the graph's input.schema"};
    if (section == "input") return fields(activity.input.schema, "input.schema");
    if (section == "output")
      return activity.output.schema_by_code.empty() ? fields(activity.output.schema, "output.schema") : std::nullopt;
    const auto* hook = std::get_if<Hook>(&activity.kind);
    return hook == nullptr ? std::nullopt : fields(hook->payload, "hook");
  }

  const Graph& graph_;
  Mistakes& mistakes_;
  std::unordered_map<std::string_view, ActivityIndex> ids_;
  ActivityIndex here_ = 0;
};

}  // namespace

void check_schema_fields(const Graph& graph, Mistakes& mistakes) { SchemaFields(graph, mistakes).run(); }

}  // namespace pawl::graph
