// What a move asks of the two stores. Each kind of store has both; its files beside it are called transfer*.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "pawl/result.h"
#include "store/store.h"
#include "store/transfer/record.h"

namespace pawl::store::transfer {

// Hears of each record; an error ends the reading.
using See = std::function<Status(Record)>;

// A store that stands in a move or was moved says so, in itself: it is not opened for work then.
struct Mark {
  enum class State : std::uint8_t {
    incoming,  // the target of a move that is not complete
    leaving,   // the source, while it is copied; only of stores that need a word to keep others out
    moved,     // the source, afterwards
  };
  State state = State::incoming;
  std::string other;  // the store at the other end, without a password
  friend bool operator==(const Mark&, const Mark&) = default;
};
std::string_view name_of(Mark::State state);
std::optional<Mark::State> state_named(std::string_view name);
// Why it is not opened, and what to do.
Error refusal_of(const Mark& mark, const std::string& store);

class Site {
 public:
  virtual ~Site() = default;
  virtual Result<std::uint64_t> count_jobs() = 0;  // for whoever waits
  virtual Status read(const See& see) = 0;         // everything, each row checked
  virtual Store& store() = 0;
};

class Source : public Site {
 public:
  // Refuses when somebody runs on the store. From then on nobody writes to it, until finish() or the end of this
  // object.
  virtual Status fence(const Mark& leaving) = 0;
  // It says that it was moved, and takes no writes, whoever has it open.
  virtual Status finish(const Mark& moved) = 0;
};

class Target : public Site {
 public:
  // Refuses when something is in it, unless that is what an interrupted move left, which goes. From then on it says
  // that it is not complete.
  virtual Status begin(const Mark& incoming) = 0;
  virtual Status put(std::span<const Record> records) = 0;
  virtual Status end_of_records() = 0;  // what follows from all of them
  virtual Status finish() = 0;          // all of it is durable: it may be opened for work
};

}  // namespace pawl::store::transfer
