// HttpClient: requests to one server, from any thread, each waiting for its answer. Connections are kept and used
// again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::serve {

struct ClientOptions {
  std::string url;        // http://HOST:PORT or https://HOST:PORT
  std::string token{};    // sent as a bearer token; empty: none
  std::string ca_file{};  // whom https is believed, PEM; empty: whom the system believes
};

struct HttpReply {
  int status = 0;
  std::string type;
  std::string body;
};

class HttpClient {
 public:
  struct Call {
    std::string method = "GET";
    std::string target;
    std::string body{};
    std::string type = "application/json";
    Duration timeout = std::chrono::seconds(30);
    bool repeatable = false;  // once more, should the connection turn out to be dead
    std::string last_event_id{};
  };
  static Result<std::shared_ptr<HttpClient>> make(const ClientOptions& options);
  ~HttpClient();

  // retry_later: the server was not reached, and nothing happened; outcome_unknown: its answer was lost.
  Result<HttpReply> send(const Call& call);
  // Hands over the bytes of the body as they come, until it ends or `hear` returns false. No bytes: it has begun.
  Status stream(const Call& call, const std::function<bool(std::string_view bytes)>& hear);
  // Calls of this target are over: the server sees that nobody waits, and what it has sent already is still read.
  void hang_up(const std::string& target);
  void close();  // ends every call, and those to come

 private:
  struct Parts;
  explicit HttpClient(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::serve
