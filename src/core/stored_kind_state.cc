#include "core/stored_kind_state.h"

#include "base/invariant.h"

namespace pawl::core {

namespace {

StoredKindState stored_wait(const WaitState& wait) {
  StoredKindState state;
  state.request = wait.request;
  state.times_out_at = wait.times_out_at;
  return state;
}

}  // namespace

WaitState* wait_of(KindState& state) {
  return std::visit(Overloaded{[](std::monostate&) -> WaitState* { return nullptr; },
                               [](WaitState& any) -> WaitState* { return &any; }},
                    state);
}
const WaitState* wait_of(const KindState& state) {
  return std::visit(Overloaded{[](const std::monostate&) -> const WaitState* { return nullptr; },
                               [](const WaitState& any) -> const WaitState* { return &any; }},
                    state);
}

StoredKindState stored(const KindState& state) {
  return std::visit(Overloaded{
                        [](const std::monostate&) -> StoredKindState {
                          invariant(false, "nothing is stored as no bytes");
                          return {};
                        },
                        [](const WaitState& one) { return stored_wait(one); },
                        [](const HookState& one) {
                          StoredKindState row = stored_wait(one);
                          row.wakes_at = one.wakes_at;
                          row.mailbox = one.mailbox;
                          return row;
                        },
                        [](const AwaitState& one) {
                          StoredKindState row = stored_wait(one);
                          row.child = one.child;
                          row.tries = one.tries;
                          return row;
                        },
                        [](const JoinState& one) {
                          StoredKindState row = stored_wait(one);
                          row.arrived = one.arrived;
                          row.skipped = one.skipped;
                          row.owes = one.owes;
                          row.closer = one.closer;
                          return row;
                        },
                        [](const WorkState& one) {
                          StoredKindState row = stored_wait(one);
                          row.tries.emplace();
                          row.attempts = one.attempts;
                          return row;
                        },
                        [](const MapState& one) {
                          StoredKindState row = stored_wait(one);
                          row.items = one.items;
                          row.parallel = one.parallel;
                          row.begun = one.begun;
                          row.done = one.done;
                          return row;
                        },
                    },
                    state);
}

Result<KindState> read(StoredKindState row) {
  const WaitState wait{row.request, row.times_out_at};
  if (row.attempts && row.attempts->empty())
    return Error{ErrorCode::corrupt, "stored bytes have an empty list of attempts"};
  if (row.attempts && row.tries == AwaitState::Tries{}) row.tries.reset();
  const HookState hook{wait, row.wakes_at, std::move(row.mailbox)};
  const AwaitState await{wait, std::move(row.child), row.tries};
  const JoinState join{wait, std::move(row.arrived), std::move(row.skipped), row.owes, row.closer};
  const MapState map{wait, row.items, row.parallel, row.begun, row.done};
  const WorkState work{wait, std::move(row.attempts).value_or(std::vector<FailedAttempt>())};
  KindState state = wait;
  int kinds = 0;
  const auto take = [&](const auto& one, const auto& blank) {
    if (one == blank) return;
    state = one;
    ++kinds;
  };
  take(hook, HookState{wait, {}, {}});
  take(await, AwaitState{wait, {}, {}});
  take(join, JoinState{wait, {}, {}, false, {}});
  take(map, MapState{wait, 0, 1, 0, 0});
  take(work, WorkState{wait, {}});
  if (kinds > 1) return Error{ErrorCode::corrupt, "stored bytes are the state of several kinds of activities"};
  return state;
}

}  // namespace pawl::core
