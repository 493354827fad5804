// Our own bugs stop the process, in release builds too: a crash turns a wrong ledger into a late one.
// Never for user input and never for what a store returned (that is ErrorCode::corrupt).
#pragma once

namespace pawl {

[[noreturn]] void invariant_failed(const char* why, const char* file, int line);

inline void invariant(bool holds, const char* why, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  if (!holds) [[unlikely]] invariant_failed(why, file, line);
}

// Visitors of closed sets: std::visit(Overloaded{[](const A&) {}, [](const B&) {}}, value).
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace pawl
