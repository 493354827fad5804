// The graphs of a stored app, drawn.
#pragma once

#include <string>

#include "pawl/options.h"
#include "pawl/result.h"
#include "runtime/backend.h"
#include "serve/request.h"

namespace pawl::serve {

// `topic`: only the graph that subscribes to it; empty: all. `form`: svg, mermaid or text.
Result<Response> draw_app(detail::RuntimeBackend& backend, const AppName& app, const std::string& topic,
                          const std::string& form);

}  // namespace pawl::serve
