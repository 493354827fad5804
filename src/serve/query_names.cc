#include "serve/query_names.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "mapping/suggest.h"
#include "serve/embedded.h"
#include "serve/problem.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

using Names = std::vector<std::string>;

const json::object& parameter_of(const json::object& document, const json::object& parameter) {
  const json::value* reference = parameter.if_contains("$ref");
  if (reference == nullptr) return parameter;
  const std::string_view path = reference->get_string();  // #/components/parameters/NAME
  return document.at("components").at("parameters").at(path.substr(path.rfind('/') + 1)).as_object();
}

// By "GET /v1/jobs".
std::map<std::string, Names> documented_names() {
  const json::value parsed = json::parse(embedded("openapi.json"));
  const json::object& document = parsed.as_object();
  std::map<std::string, Names> names;
  for (const auto& path : document.at("paths").as_object())
    for (const auto& operation : path.value().as_object()) {
      std::string method(operation.key());
      std::transform(method.begin(), method.end(), method.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
      Names& known = names[method + " " + std::string(path.key())];
      const json::value* parameters = operation.value().as_object().if_contains("parameters");
      if (parameters == nullptr) continue;
      for (const json::value& one : parameters->as_array()) {
        const json::object& parameter = parameter_of(document, one.as_object());
        if (parameter.at("in").as_string() == "query") known.emplace_back(parameter.at("name").as_string());
      }
    }
  return names;
}

std::string list_of(const Names& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

Response refusal_of(const std::string& name, const Names& known) {
  const std::string shown = kept_text(name, 100);
  if (known.empty())
    return problem("invalid", format("{}: there is no such name in a query here; this route has none", shown), shown);
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = mapping::nearest(name, names);
  return problem("invalid",
                 format("{}: there is no such name in a query here; {}", shown,
                        near.empty() ? "there are " + list_of(known) : format("did you mean {}?", near)),
                 shown);
}

}  // namespace

Router with_checked_queries(const Router& router) {
  const std::map<std::string, Names> documented = documented_names();
  Router checked;
  for (Route route : router.routes()) {
    const auto found = documented.find(route.method + " " + route.pattern);
    if (found != documented.end() && route.pattern.starts_with("/v1/"))
      route.handler = [known = found->second, handler = std::move(route.handler)](const Request& request,
                                                                                  const ExchangePointer& exchange) {
        for (const auto& [name, value] : request.query)
          if (std::find(known.begin(), known.end(), name) == known.end())
            return exchange->respond(refusal_of(name, known));
        handler(request, exchange);
      };
    checked.add(std::move(route));
  }
  return checked;
}

}  // namespace pawl::serve
