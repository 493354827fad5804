// Fields: what a request says, read with names for what is wrong. The first mistake counts; whatever is read after it
// is a default. Ask mistake() before anything is done.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "serve/request.h"

namespace pawl::serve {

struct Mistake {
  std::string field;
  Error error;
};

class Fields {
 public:
  // Of a body that is a JSON object; an empty body is one without fields.
  explicit Fields(std::string_view body, boost::json::storage_ptr storage = {});
  // Of an object that outlives it.
  explicit Fields(const boost::json::object& object) : object_(&object) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool has(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise = {});
  std::string needed(std::string_view name);  // a text that must be there
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise);
  bool truth(std::string_view name, bool otherwise);
  std::optional<Duration> time(std::string_view name);
  Payload payload(std::string_view name);  // empty: it is not there
  std::vector<std::string> texts(std::string_view name, std::size_t count_max);
  // An object, or a list. Null: it is not there.
  const boost::json::object* object(std::string_view name);
  const boost::json::array* list(std::string_view name, std::size_t count_max);
  std::string one_of(std::string_view name, std::initializer_list<std::string_view> words, std::string_view otherwise);

  // The first mistake, or a field that nothing was read from.
  const std::optional<Mistake>& mistake();
  void wrong(std::string_view name, std::string why);

 private:
  const boost::json::value* find(std::string_view name);
  const boost::json::value* note_read(std::string_view name);  // null: it is not there
  boost::json::object own_;
  const boost::json::object* object_ = &own_;
  std::vector<const boost::json::value*> read_;  // of the object's values
  std::optional<Mistake> mistake_;
};

// The same for the query.
class Query {
 public:
  explicit Query(const Request& request) : request_(request) {}
  std::string text(std::string_view name, std::string_view otherwise = {});
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise);
  bool truth(std::string_view name, bool otherwise);
  std::optional<Duration> time(std::string_view name);
  void wrong(std::string_view name, std::string why);
  const std::optional<Mistake>& mistake() const { return mistake_; }

 private:
  const Request& request_;
  std::optional<Mistake> mistake_;
};

Response problem(const Mistake& mistake);

}  // namespace pawl::serve
