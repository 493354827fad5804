// Exchange: how a handler answers. Any thread may call it, also long after the handler has returned.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "serve/request.h"

namespace pawl::serve {

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Once; or a stream instead: begin() once, then write(), then end().
  virtual void respond(Response response) = 0;
  virtual void begin(Response head) = 0;
  // False: the client is gone, or was cut off because these bytes would not fit behind those that wait for it
  // (stream_queue_bytes_max). Write no more. What is larger passes when nothing waits: when_written().
  virtual bool write(std::string bytes) = 0;
  // How many bytes of a stream wait for the client now.
  virtual std::size_t unwritten() const = 0;
  // Calls back once: when the client has taken all that was written, or is gone. Must not wait; it may be called at
  // once.
  virtual void when_written(std::function<void()> call) = 0;
  virtual void end() = 0;
  // Called once when the client is gone before its answer is whole; at once if it is gone already.
  virtual void on_gone(std::function<void()> gone) = 0;
};

using ExchangePointer = std::shared_ptr<Exchange>;
using Handler = std::function<void(const Request&, const ExchangePointer&)>;

}  // namespace pawl::serve
