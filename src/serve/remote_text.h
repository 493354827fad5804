// What the requests of a RemoteRuntime are written with.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "mapping/json_parse.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "serve/job_json.h"
#include "serve/request.h"

namespace pawl::serve {

// As the API reads times.
inline std::string time_query(Duration time) { return format("{}ms", (time.count() + 999) / 1000); }

inline boost::json::value json_of(const Payload& payload) {
  if (payload.empty()) return nullptr;
  auto parsed = mapping::parse_json(payload.view());
  if (parsed) return std::move(*parsed);
  return boost::json::string(payload.view());
}

class TargetBuilder {
 public:
  explicit TargetBuilder(std::string path) : text_(std::move(path)) {}
  TargetBuilder& with(std::string_view name, std::string_view value) {
    text_ += format("{}{}={}", text_.find('?') == std::string::npos ? "?" : "&", name, percent_encoded(value));
    return *this;
  }
  TargetBuilder& with_some(std::string_view name, std::string_view value) {
    return value.empty() ? *this : with(name, value);
  }
  TargetBuilder& with_all(const Pairs& query) {
    for (const auto& [name, value] : query) with(name, value);
    return *this;
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

inline std::string job_path(RunId run, const std::string& rest = "") {
  return TargetBuilder("/v1/jobs/-" + rest).with("run", run_text(run)).text();
}

inline Error needs_store(std::string_view what) {
  return {ErrorCode::unsupported,
          format("{} needs the store in this process: use pawl::open instead of pawl::connect", what)};
}

inline Error at_the_store(std::string_view command, std::string_view why) {
  return {
      ErrorCode::unsupported,
      format("{0} {1}: run it where the store is, with pawl {0} --store; a server may run meanwhile", command, why)};
}

// The objects of a list in an answer.
template <class View, class Read>
Result<std::vector<View>> views_in(const Result<boost::json::object>& object, std::string_view name, Read read) {
  if (!object) return object.error();
  std::vector<View> views;
  const boost::json::value* list = object->if_contains(name);
  if (list != nullptr && list->is_array())
    for (const boost::json::value& one : list->get_array())
      if (one.is_object()) views.push_back(read(one.get_object()));
  return views;
}

}  // namespace pawl::serve
