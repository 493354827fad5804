// Transport: bytes to and from one server, over a socket or over TLS. Debian's hiredis package has no TLS, so only its
// parser is used, and this class is below it.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "pawl/result.h"
#include "store/redis/url.h"

namespace pawl::store::redis {

struct TlsOptions {
  std::string ca_file;      // trusted authorities; empty: those of the system
  std::string certificate;  // of this client, with its key; empty: none
  std::string key;
};

class Transport {
 public:
  using Timeout = std::chrono::milliseconds;
  virtual ~Transport() = default;

  virtual Status write(std::string_view bytes, Timeout timeout) = 0;
  // At least one byte; nothing within the timeout is retry_later, an end of the connection is not_found.
  virtual Result<std::size_t> read(char* into, std::size_t bytes_max, Timeout timeout) = 0;
};

Result<std::unique_ptr<Transport>> connect_plain(const Address& address, Transport::Timeout timeout);
Result<std::unique_ptr<Transport>> connect_tls(const Address& address, const TlsOptions& options,
                                               Transport::Timeout timeout);

}  // namespace pawl::store::redis
