#include "serve/problem.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdlib>

#include "base/format.h"
#include "base/utf8.h"
#include "runtime/no_room.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

// In the order of the document. The first are the codes of pawl::ErrorCode.
constexpr std::array kinds{
    ProblemKind{
        "invalid", 400, "The request is wrong",
        "Something in the request cannot be right: a field is missing, of another type or out of its range, or the "
        "job is in no state for what was asked. The detail names it. Correct the request and send it again."},
    ProblemKind{
        "not_found", 404, "There is no such thing",
        "There is no job, app, version, graph or topic of that name. GET /v1/jobs and GET /v1/apps list what there "
        "is. A job that was removed, or whose time to be kept is over, is gone."},
    ProblemKind{
        "already_exists", 409, "The name is taken",
        "Another job has this id and the request said reuse: reject, or another content was deployed under this "
        "version of the app. Choose another id, another reuse policy, or give the changed app a new version."},
    ProblemKind{"already_done", 409, "It was done before",
                "This very step is done. Go on; there is nothing to repeat."},
    ProblemKind{"conflict", 409, "Somebody else was quicker",
                "The state changed between the look and the request. Read it again and decide again."},
    ProblemKind{"fenced", 409, "This process no longer owns it",
                "Another process took over while the request was on its way. Send it again: the new owner answers."},
    ProblemKind{
        "retry_later", 503, "Not now",
        "Nothing has happened, and the same request may succeed later: the store is busy or away, too much is on "
        "its way, or the job has not ended yet. Retry-After says when to try again."},
    ProblemKind{
        "outcome_unknown", 503, "It may have happened",
        "The answer of the store was lost. Read the state before you decide; or repeat the request under the same "
        "job id, signal id or token: then it counts once."},
    ProblemKind{
        "corrupt", 500, "Stored data contradicts itself",
        "Rows of this job cannot be what was written. The job stops; the others go on. The server's log has the "
        "details. Keep the store as it is and look for damage of the disk or a foreign writer."},
    ProblemKind{
        "over_limit", 413, "A limit was reached",
        "The detail names the limit. Send less, or make room: end or remove jobs, take signals that nobody took."},
    ProblemKind{
        "unsupported", 501, "This cannot be done here",
        "This store, this graph or this version of Pawl cannot do what was asked. The detail says what can be done "
        "instead."},
    ProblemKind{
        "failed", 422, "The job ended without a result",
        "The job failed, was interrupted or is parked. GET /v1/jobs/{id} says why; redrive lets a parked one go on."},
    ProblemKind{
        "app_mistakes", 422, "The app has mistakes",
        "Every mistake is listed under mistakes with file, line, column and a suggestion. pawl check FILE shows "
        "the same on the command line. Nothing was deployed."},
    ProblemKind{
        "stale_token", 409, "The token is no longer good",
        "This attempt is over: its lease ended, its job ended, or it was answered. Nothing has changed by the "
        "request. Drop the result of this attempt: if the work is still wanted, somebody has another attempt of it "
        "under the same key. A worker that loses leases should heartbeat more often or ask for a longer lease."},
    ProblemKind{
        "unauthorized", 401, "The token is missing or wrong",
        "This server wants a bearer token: send the header Authorization: Bearer TOKEN. The command line reads it "
        "from PAWL_TOKEN or --token-file."},
    ProblemKind{"forbidden_origin", 403, "A page of another site may not do this",
                "A browser sent this request for a page of another origin, or under a host name that is not this "
                "server's. Open the page by the address that the server printed, or name the host with --allow-host."},
    ProblemKind{"no_such_route", 404, "There is no such route", "GET /v1/openapi.json lists every route."},
    ProblemKind{"method_not_allowed", 405, "The route has no such method", "The header Allow lists what it has."},
    ProblemKind{"bad_request", 400, "This is no HTTP request", "The bytes could not be read as an HTTP/1.1 request."},
    ProblemKind{
        "body_too_large", 413, "The body is too large",
        "A body has at most 8 MiB (body_bytes_max), a payload at most 4 MiB. Keep large things elsewhere and send "
        "where they are; send many jobs in several requests."},
    ProblemKind{"header_too_large", 431, "The header is too large", "A header has at most 16 KiB (header_bytes_max)."},
    ProblemKind{
        "no_room", 503, "The server has no room for another job now",
        "What the server has to commit takes as much memory as it may (RuntimeOptions::memory.waiting). Nothing "
        "has happened; the same request will succeed when some of it is committed. Retry-After says when to "
        "try again."},
    ProblemKind{"too_many_bodies", 503, "Too many large requests at once",
                "The bodies of all requests on their way have as many bytes as this server takes (bodies_bytes_max). "
                "Nothing has happened; try again later."},
    ProblemKind{"too_many_connections", 503, "Too many connections",
                "This server has as many connections as it takes (connections_max). Close some, or try again later."},
    ProblemKind{"too_many_streams", 503, "Too many streams",
                "This server has as many event and work streams, or waiting requests, as it takes (streams_max, "
                "waiting_max). Close some, or try again later."},
    ProblemKind{"stopping", 503, "The server stops",
                "Send the request again, to this server when it is back or to another."},
    ProblemKind{"internal", 500, "A mistake of the server",
                "This should not happen. Please report it with the id of the request and what the log says about it."},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

json::object object_of(const ProblemKind& kind, std::string_view detail, std::string_view field) {
  json::object object{{"type", "/errors/" + std::string(kind.code)},
                      {"title", json::string(kind.title)},
                      {"status", kind.status},
                      {"code", json::string(kind.code)},
                      {"detail", json::string(detail)}};
  if (!field.empty()) object["field"] = json::string(field);
  return object;
}

const ProblemKind& kind_of(std::string_view code) {
  const ProblemKind* kind = find_problem(code);
  if (kind == nullptr) std::abort();  // the code names its own problems
  return *kind;
}

}  // namespace

std::span<const ProblemKind> problem_kinds() { return kinds; }

const ProblemKind* find_problem(std::string_view code) {
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const ProblemKind& one) { return one.code == code; });
  return found == kinds.end() ? nullptr : &*found;
}

std::string problem_json(std::string_view code, std::string_view detail, std::string_view field) {
  return printable_json(json::serialize(object_of(kind_of(code), detail, field)));
}

// A start that found no room has a code of its own: whoever wants to wait for room can tell it from a store that is
// away.
std::string_view code_of(const Error& error) {
  return runtime::is_no_room(error) ? std::string_view("no_room") : name_of(error.code);
}

std::string problem_json(const Error& error) { return problem_json(code_of(error), error.detail); }

Response problem(std::string_view code, std::string detail, std::string_view field) {
  Response response{kind_of(code).status, "application/problem+json", problem_json(code, detail, field)};
  if (response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response problem(const Error& error, std::string_view field) { return problem(code_of(error), error.detail, field); }

std::string problem_page(std::string_view code) {
  const ProblemKind* kind = find_problem(code);
  if (kind == nullptr) return {};
  return format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>{0}</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}}"
      "code{{background:#8882;padding:.1em .3em}}</style><h1>{1}</h1><p>Code <code>{0}</code>, status "
      "{2}.</p><p>{3}</p>"
      "<p><a href=\"/\">The page of this server</a></p></html>\n",
      kind->code, escaped(kind->title), kind->status, escaped(kind->meaning));
}

}  // namespace pawl::serve
