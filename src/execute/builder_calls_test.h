// The builder's call for every key of the graph language (graph/words.h), and whole apps built with these calls from a
// document.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "graph/refs.h"
#include "graph/words.h"
#include "pawl/graph.h"

namespace pawl::execute {

struct Saying {
  const char* methods;  // of GraphBuilder, separated by spaces
  const char* sample;   // JSON
  std::function<void(GraphBuilder&, const Value&)> call;
};
using Sayings = std::map<std::pair<graph::Level, std::string>, Saying>;

const Sayings& sayings();

Value value_of(const boost::json::value& from);

// The app of a document, built in C++.
AppBuilder said_app(const boost::json::object& app);

// The document as the reader sees it, with references to other files resolved.
boost::json::value document_of_app(const graph::Loader& loader, const std::string& file);

}  // namespace pawl::execute
