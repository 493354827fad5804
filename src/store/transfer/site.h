// What a move needs from the two stores. Each kind of store has both a source and a target, in its files transfer*.
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

// Called with each record; an error ends the reading.
using See = std::function<Status(Record)>;

// A store that takes part in a move or was moved has this mark; then it is not opened for work.
struct Mark {
  enum class State : std::uint8_t {
    incoming,  // the target of a move that is not complete
    leaving,   // the source, while it is copied; only for stores that need a mark to keep others out
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
  virtual Result<std::uint64_t> count_jobs() = 0;  // to show progress
  virtual Status read(const See& see) = 0;         // everything, each row checked
  virtual Store& store() = 0;
};

class Source : public Site {
 public:
  // Refuses when an engine runs on the store. From then on no one writes to it, until finish() or the end of this
  // object.
  virtual Status fence(const Mark& leaving) = 0;
  // Marks it as moved: it accepts no writes, even from processes that already have it open.
  virtual Status finish(const Mark& moved) = 0;
};

class Target : public Site {
 public:
  // Refuses when the store is not empty, unless an interrupted move left the data, which is deleted. From then on the
  // store is marked as incomplete.
  virtual Status begin(const Mark& incoming) = 0;
  virtual Status put(std::span<const Record> records) = 0;
  virtual Status end_of_records() = 0;  // writes what follows from all of them
  virtual Status finish() = 0;          // all of it is durable: it may be opened for work
};

}  // namespace pawl::store::transfer
