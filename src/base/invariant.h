// Bugs in Pawl stop the process, in release builds too: a crash only delays a ledger, a bug could make it wrong. Never
// used for user input, and never for what a store returned (that is ErrorCode::corrupt).
#pragma once

#include <concepts>
#include <utility>

namespace pawl {

[[noreturn]] void invariant_failed(const char* why, const char* file, int line);

inline void invariant(bool holds, const char* why, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!holds) [[unlikely]]
    invariant_failed(why, file, line);
}

// Visitors of closed sets: std::visit(Overloaded{[](const A&) {}, [](const B&) {}}, value).
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// In such a visitor: one answer for these kinds and for no other. Never use `const auto&`: every visitor must name a
// new kind, or it does not compile.
template <class F, class... Kinds>
struct EachOf {
  F answer;
  template <class Kind>
  requires(std::same_as<Kind, Kinds> || ...) auto operator()(const Kind&) const { return answer(); }
};
template <class... Kinds, class F>
EachOf<F, Kinds...> each_of(F answer) {
  return {std::move(answer)};
}

}  // namespace pawl
