#include "store/transfer/site.h"

#include "base/format.h"

namespace pawl::store::transfer {

std::string_view name_of(Mark::State state) {
  switch (state) {
    case Mark::State::incoming:
      return "incoming";
    case Mark::State::leaving:
      return "leaving";
    case Mark::State::moved:
      return "moved";
  }
  return "?";
}

std::optional<Mark::State> state_named(std::string_view name) {
  for (const auto state : {Mark::State::incoming, Mark::State::leaving, Mark::State::moved})
    if (name_of(state) == name) return state;
  return std::nullopt;
}

Error refusal_of(const Mark& mark, const std::string& store) {
  switch (mark.state) {
    case Mark::State::incoming:
      return Error{
          ErrorCode::unsupported,
          format("{} is not complete: a move from {} to it was interrupted, or is under way. Run the same pawl move"
                 " again: it starts over",
                 store, mark.other)};
    case Mark::State::leaving:
      return Error{
          ErrorCode::unsupported,
          format("{} is being moved to {}, or that was interrupted. Run the same pawl move again; or, to go on here:"
                 " pawl move --undo --from STORE",
                 store, mark.other)};
    case Mark::State::moved:
      break;
  }
  return Error{
      ErrorCode::unsupported,
      format("{} was moved to {}: work goes on there, and this is a backup. Name that store instead. If the copy is not"
             " used and never will be: pawl move --undo --from STORE",
             store, mark.other)};
}

}  // namespace pawl::store::transfer
