// connect(): a Runtime that asks a server (`pawl serve`) instead of a store of its own. One line moves a program from
// embedded to remote; jobs, signals, workers and observers are called as before:
//
//   pawl::Result<pawl::Runtime> anywhere(bool remote) {
//     if (remote) return pawl::connect("http://127.0.0.1:8210");
//     return pawl::open("orders.db");
//   }
//
// Workers run in this process: they take work from the server under a lease, which is kept while they run. The server
// cannot call into this process, so serve_transaction() and probe() say unsupported; stats() is empty.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "pawl/result.h"
#include "pawl/runtime.h"
#include "pawl/time.h"

namespace pawl {

struct ConnectOptions {
  std::string url;        // http://HOST:PORT or https://HOST:PORT
  std::string token{};    // of the server, if it wants one
  std::string ca_file{};  // whom https is believed, PEM; empty: whom the system believes
  std::string worker{};   // this process's name, for people; empty: host and process
  std::uint32_t worker_threads = 4;
  // Attempts that are taken at the most, running ones included. 0: few at first, and more while these threads finish
  // all of them at once, so that quick work does not wait for the network and slow work does not wait here. As many
  // again can come once when the connection was lost.
  std::uint32_t worker_queue = 0;
  Duration lease = std::chrono::seconds(30);  // of work: kept by heartbeats, over when this process is gone
};

// Checks that a server answers there.
Result<Runtime> connect(ConnectOptions options);
template <class Text>
requires std::convertible_to<Text, std::string> Result<Runtime> connect(const Text& url) {
  return connect(ConnectOptions{.url = url});
}

}  // namespace pawl
