// Every kind of store, for the tests of moves: an empty place, opened as a store, as a source or as a target.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/conformance/conformance.h"
#include "store/transfer/move.h"

namespace pawl::store::transfer {

class Home {
 public:
  virtual ~Home() = default;
  virtual std::string name() const = 0;
  // As in the conformance tests: operations on all lanes are accepted.
  virtual Result<std::unique_ptr<Store>> open(const Clock& clock) = 0;
  virtual DuplexStore& duplex(Store& opened) = 0;
  virtual Result<std::unique_ptr<Source>> source(const Clock& clock) = 0;
  virtual Result<std::unique_ptr<Target>> target(const Clock& clock) = 0;
  virtual Status undo(const Clock& clock) = 0;
  virtual void damage(RunId run) = 0;  // the row of a job
};

enum class Kind : std::uint8_t { sqlite, postgres, redis, cluster };
const std::vector<Kind>& all_kinds();
std::string name_of(Kind kind);
std::unique_ptr<Home> make_home(Kind kind);

inline Result<Moved> move_between(Home& from, Home& to, const Clock& clock,
                                  std::function<Status(const Progress&)> on_progress = {}) {
  auto source = from.source(clock);
  if (!source) return source.error();
  auto target = to.target(clock);
  if (!target) return target.error();
  return run({**source, **target, from.name(), to.name(), std::move(on_progress)});
}

}  // namespace pawl::store::transfer
