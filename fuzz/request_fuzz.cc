// Requests as anybody may send them: a target, then a body. Reading one must not crash, whatever it says, and a body
// that is accepted as fields can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "serve/fields.h"
#include "serve/request.h"
#include "serve/router.h"
#include "serve/work_json.h"

using namespace pawl;
using namespace pawl::serve;

namespace {

Router& routes() {
  static Router router = [] {
    Router made;
    for (const char* pattern : {"/", "/v1/jobs", "/v1/jobs/{id}", "/v1/jobs/count", "/v1/work/{token}/complete"})
      made.add({"GET", pattern, {}});
    return made;
  }();
  return router;
}

void read_body(std::string_view body) {
  for (const bool stream : {false, true}) {
    Fields fields(body);
    if (stream)
      (void)stream_in(fields);
    else
      (void)wish_in(fields);
    (void)fields.mistake();
  }
  Fields answer(body);
  const Answer said = answer_in(answer);
  if (answer.mistake()) return;
  if (said.token.empty() || said.said.code < 100 || said.said.code > 999) std::abort();  // what is accepted is checked
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  Request request;
  request.method = "GET";
  if (read_target(text.substr(0, line), request)) {
    std::vector<std::string> methods;
    (void)routes().find(request, methods);
    Query query(request);
    (void)query.number("limit", 1, 1000, 100);
    (void)query.time("wait");
    (void)query.truth("dry_run", false);
  }
  // What was encoded is decoded to the same.
  const auto decoded = percent_decoded(percent_encoded(text), false);
  if (text.find('\0') == std::string_view::npos && (!decoded || *decoded != text)) std::abort();
  if (line != std::string_view::npos) read_body(text.substr(line + 1));
  return 0;
}
