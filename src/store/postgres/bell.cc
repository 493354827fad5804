#include "store/postgres/bell.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "base/invariant.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

namespace {

const Statement notify{"notify", "SELECT pg_notify($1::text, $2::text)"};

constexpr char hex_digits[] = "0123456789abcdef";

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text.push_back(hex_digits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(hex_digits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
    if (error != std::errc{} || end != text.data() + at + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

// The same change in fewer bytes: it no longer names single runs.
Change without_names(Change change) {
  if (!change.runs.empty()) change.inboxes = change.times = true;
  change.runs.clear();
  return change;
}

}  // namespace

std::string Bell::encode_ring(std::uint64_t process, const Change& change) {
  std::string text = format("{:x} {}", process, hex(encode(change)));
  return text.size() <= limits::notify_bytes_max ? text : encode_ring(process, without_names(change));
}

std::optional<Change> Bell::decode_ring(std::uint64_t process, std::string_view text) {
  std::uint64_t sender = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sender, 16);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ') return Change::everything();
  if (sender == process) return std::nullopt;
  const auto bytes = from_hex(text.substr(static_cast<std::size_t>(end - text.data()) + 1));
  const auto change = bytes ? decode_change(*bytes) : std::nullopt;
  // It may come from a newer program. It means at least that something changed.
  return change ? *change : Change::everything();
}

Bell::Bell(Address address, std::uint64_t process)
    : address_(std::move(address)), process_(process), channel_("pawl_" + address_.schema) {
  invariant(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe can be made");
}

Bell::~Bell() {
  stopping_ = true;
  const char byte = 0;
  if (write(wake_[1], &byte, 1) < 0) {
  }  // the pipe is full, so the thread wakes anyway
  if (thread_.joinable()) thread_.join();
  close(wake_[0]);
  close(wake_[1]);
}

void Bell::listen(Listener& listener) {
  const std::lock_guard lock(mutex_);
  if (std::find(listeners_.begin(), listeners_.end(), &listener) == listeners_.end()) listeners_.push_back(&listener);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Bell::stop_listening(Listener& listener) {
  const std::lock_guard lock(mutex_);
  std::erase(listeners_, &listener);
}

void Bell::ring(Script& script, const Change& change) const {
  script.add(notify, Params::of(channel_, encode_ring(process_, change)));
}

void Bell::tell(const Change& change) {
  const std::lock_guard lock(mutex_);
  for (Listener* listener : listeners_) listener->rung(change);
}

bool Bell::connect() {
  auto opened = postgres::connect(address_);
  if (!opened) return false;
  handle_ = opened->handle;
  PGresult* listening = PQexec(handle_, ("LISTEN " + quoted_name(channel_)).c_str());
  const bool listens = PQresultStatus(listening) == PGRES_COMMAND_OK;
  PQclear(listening);
  if (listens) return true;
  PQfinish(handle_);
  handle_ = nullptr;
  return false;
}

bool Bell::receive(int timeout_ms) {
  pollfd waits[] = {{handle_ == nullptr ? -1 : PQsocket(handle_), POLLIN, 0}, {wake_[0], POLLIN, 0}};
  poll(waits, 2, timeout_ms);
  if (handle_ == nullptr) return true;
  if (PQconsumeInput(handle_) != 1) return false;
  Change received;
  while (PGnotify* one = PQnotifies(handle_)) {
    if (const auto change = decode_ring(process_, one->extra)) received.add(*change);
    PQfreemem(one);
  }
  if (!received.empty()) tell(received);
  return PQstatus(handle_) == CONNECTION_OK;
}

void Bell::run() {
  std::chrono::milliseconds pause = limits::reconnect_first;
  while (!is_stopping()) {
    if (!connect()) {
      receive(static_cast<int>(pause.count()));
      pause = std::min(pause * 2, limits::reconnect_max);
      continue;
    }
    pause = limits::reconnect_first;
    tell(Change::everything());  // also the first time: commits since listen() sent no notification to us
    while (!is_stopping() && receive(-1)) {
    }
    PQfinish(handle_);
    handle_ = nullptr;
  }
}

}  // namespace pawl::store::postgres
