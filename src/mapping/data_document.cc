#include "mapping/data_document.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

const json::value* member(const json::value* holder, std::string_view key) {
  const json::object* object = holder == nullptr ? nullptr : holder->if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

ActivityValues activity_of(const json::value& source) {
  const json::value* input = member(&source, "input");
  const json::value* output = member(&source, "output");
  const json::value* hook = member(&source, "hook");
  return {.input_data = member(input, "data"),
          .input_metadata = member(input, "metadata"),
          .output_data = member(output, "data"),
          .output_metadata = member(output, "metadata"),
          .hook_data = member(hook, "data"),
          .hook_metadata = member(hook, "metadata")};
}

}  // namespace

DataDocument::DataDocument(const json::value& document) {
  const json::object* scopes = document.if_object();
  if (scopes == nullptr) return;
  for (const json::key_value_pair& scope : *scopes) {
    const std::string_view name = scope.key();
    const json::value& value = scope.value();
    if (name == "$self") {
      data_.self = activity_of(value);
    } else if (name == "$job") {
      data_.job_data = member(&value, "data");
      data_.job_metadata = member(&value, "metadata");
    } else if (name == "$hook") {
      data_.hook_data = member(&value, "data");
      data_.hook_metadata = member(&value, "metadata");
    } else if (name == "$app") {
      data_.app = &value;
    } else if (name == "$graph") {
      data_.graph = &value;
    } else {
      activities_.push_back({name, activity_of(value)});
    }
  }
  data_.activities = activities_;
}

}  // namespace pawl::mapping
