// DataDocument: one JSON object seen as Data, for the CLI, tests and fuzzing. Its keys are the
// scopes as they are written in references: {"$job": {"data": ...}, "$self": {"input": {"data":
// ...}}, "some_id": {...}}.
#pragma once

#include "mapping/data.h"

#include <boost/json/fwd.hpp>

#include <vector>

namespace pawl::mapping {

// Refers to the document, which must outlive it. Parts that references cannot name are left out.
class DataDocument {
 public:
  explicit DataDocument(const boost::json::value& document);
  DataDocument(const DataDocument&) = delete;  // data_ points into activities_
  DataDocument& operator=(const DataDocument&) = delete;

  const Data& data() const { return data_; }

 private:
  std::vector<NamedActivity> activities_;
  Data data_;
};

}  // namespace pawl::mapping
