// Connection: commands to one server and their replies, many to a round trip.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/result.h"
#include "store/redis/reply.h"
#include "store/redis/transport.h"
#include "store/redis/url.h"

struct redisReader;

namespace pawl::store::redis {

// Commands in the form in which they are sent.
class Commands {
 public:
  void add(std::span<const std::string_view> words);
  void add(std::initializer_list<std::string_view> words) { add(std::span(words.begin(), words.size())); }
  void add(const std::vector<std::string>& words);

  std::size_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }
  void append(const Commands& other) {
    bytes_ += other.bytes_;
    count_ += other.count_;
  }
  void clear() {
    bytes_.clear();
    count_ = 0;
  }

 private:
  void put_size(char kind, std::size_t size);
  std::string bytes_;
  std::size_t count_ = 0;
};

struct ConnectionOptions {
  bool tls = false;
  TlsOptions tls_options;
  std::string user;
  std::string password;
  std::uint32_t database = 0;
  std::chrono::milliseconds connect_timeout{0};
  std::chrono::milliseconds reply_timeout{0};
};

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const Address& address, const ConnectionOptions& options);
  ~Connection();

  // One reply for each. An error is retry_later if nothing was sent, else outcome_unknown; after it the connection must
  // not be used.
  Result<std::vector<Reply>> ask(const Commands& commands);
  Result<Reply> ask_one(std::initializer_list<std::string_view> words);

  // For listening: replies that come without a command. None: nothing came within the timeout.
  Status send(const Commands& commands);
  Result<std::optional<Reply>> receive(std::chrono::milliseconds timeout);

  bool is_broken() const { return broken_; }
  const Address& address() const { return address_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };
  Connection(Address address, std::unique_ptr<Transport> transport, std::chrono::milliseconds reply_timeout);
  Status greet(const ConnectionOptions& options);

  const Address address_;
  const std::unique_ptr<Transport> transport_;
  const std::chrono::milliseconds reply_timeout_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  std::string buffer_;
  bool broken_ = false;
};

}  // namespace pawl::store::redis
