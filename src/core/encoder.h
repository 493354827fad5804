// Encoder: values as bytes, by the grammar of codec.h. A struct is encoded by the list of its fields (fields.h, or any
// other `fields_of` beside the struct).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ledger/activity_ledger.h"
#include "ledger/dimensions.h"
#include "ledger/message_ledger.h"
#include "pawl/payload.h"
#include "pawl/strong.h"
#include "pawl/time.h"

namespace pawl::core {

class Encoder {
 public:
  template <class... Ts>
  void operator()(const Ts&... values) {
    (put(values), ...);
  }
  // A field that was added after the first format: it must be the last one.
  template <class T>
  void at_the_end(const std::optional<T>& value) {
    if (value) put(*value);
  }
  std::string take() { return std::move(out_); }

 private:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
  }
  void bytes(std::string_view text) {
    number(text.size());
    out_.append(text);
  }

  void put(bool value) { number(value ? 1 : 0); }
  template <std::unsigned_integral T>
  void put(T value) {
    number(value);
  }
  template <std::signed_integral T>
  void put(T value) {
    const auto wide = static_cast<std::int64_t>(value);
    number((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
  }
  template <class T>
  requires std::is_enum_v<T>
  void put(T value) { number(static_cast<std::uint64_t>(value)); }
  void put(const std::string& text) { bytes(text); }
  void put(const Payload& payload) { bytes(payload.view()); }
  void put(const ledger::Dimensions& at) { bytes(at.text()); }
  void put(const ledger::ActivityLedger& ledger) { number(ledger.encode()); }
  void put(const ledger::MessageLedger& ledger) { number(ledger.encode()); }
  void put(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void put(Instant at) { put(at.micros()); }
  void put(Duration time) { put(static_cast<std::int64_t>(time.count())); }
  template <class Tag, class Rep>
  void put(const Strong<Tag, Rep>& value) {
    put(value.raw());
  }
  template <class T>
  void put(const std::optional<T>& value) {
    number(value ? 1 : 0);
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    number(values.size());
    for (const T& value : values) put(value);
  }
  template <class... Ts>
  void put(const std::variant<Ts...>& value) {
    number(value.index());
    std::visit([&](const auto& alternative) { put(alternative); }, value);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { fields_of(*this, const_cast<T&>(value)); }  // the lists take T&; encoding only reads

  std::string out_;
};

}  // namespace pawl::core
