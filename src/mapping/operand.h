// Operand: what flows through a pipe. A JSON value that is borrowed (from Data, from the
// expression) or owned, or "missing", which is JavaScript's undefined. NaN and the infinities exist
// only here, as a number operand on its own; inside arrays and objects, and in results, they are
// null.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::mapping {

class Operand {
 public:
  Operand() = default;  // missing
  // Missing, with the reference that found nothing. Refers to the text, which the expression owns.
  static Operand missing_at(const std::string& written) {
    Operand operand;
    operand.written_ = &written;
    return operand;
  }
  Operand(boost::json::value value) : owned_(std::move(value)), state_(State::owned) {}
  static Operand borrow(const boost::json::value& value) {
    Operand operand;
    operand.borrowed_ = &value;
    operand.state_ = State::borrowed;
    return operand;
  }
  // Integers up to 2^53 are held as integers, all else as double (also -0, NaN and the infinities).
  static Operand number(double number);
  static Operand text(std::string_view text) { return Operand(boost::json::value(text)); }
  static Operand boolean(bool truth) { return Operand(boost::json::value(truth)); }
  static Operand null() { return Operand(boost::json::value(nullptr)); }

  bool missing() const { return state_ == State::missing; }
  bool nullish() const { return missing() || value().is_null(); }
  bool owned() const { return state_ == State::owned; }

  // The reference that found nothing, as written; empty when the operand came from elsewhere.
  std::string_view written() const {
    return missing() && written_ != nullptr ? std::string_view(*written_) : std::string_view();
  }

  // The value; null for a missing operand.
  const boost::json::value& value() const { return state_ == State::borrowed ? *borrowed_ : owned_; }

  // REQUIRES: owned(). For functions that build on their operand in place.
  boost::json::value& owned_value() { return owned_; }

 private:
  enum class State : std::uint8_t { missing, borrowed, owned };

  boost::json::value owned_;
  union {
    const boost::json::value* borrowed_ = nullptr;
    const std::string* written_;
  };
  State state_ = State::missing;
};

}  // namespace pawl::mapping
