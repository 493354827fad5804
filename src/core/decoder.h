// Decoder: bytes as values, by the grammar of codec.h: the other direction of the encoder, with the same lists of
// fields. It never trusts its input: after a wrong byte failed() is true, and what was read means nothing.
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

#include "core/bundle.h"
#include "core/carried.h"
#include "ledger/activity_ledger.h"
#include "ledger/dimensions.h"
#include "ledger/message_ledger.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/strong.h"
#include "pawl/time.h"

namespace pawl::core {

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  template <class... Ts>
  void operator()(Ts&... values) {
    (get(values), ...);
  }
  template <class T>
  void at_the_end(std::optional<T>& value) {
    if (!failed_ && !at_end()) get(value.emplace());
  }
  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      // One value, one encoding: the encoder never writes a bit beyond the 64th or a needless zero byte.
      if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0)) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::string_view bytes() {
    const std::uint64_t size = number();
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  template <class T>
  void keep(T& into, Result<T> decoded) {
    if (decoded)
      into = std::move(*decoded);
    else
      failed_ = true;
  }

  void get(bool& value) {
    const std::uint64_t read = number();
    if (read > 1) failed_ = true;
    value = read == 1;
  }
  template <std::unsigned_integral T>
  void get(T& value) {
    const std::uint64_t wide = number();
    value = static_cast<T>(wide);
    if (value != wide) failed_ = true;
  }
  template <std::signed_integral T>
  void get(T& value) {
    const std::uint64_t zigzag = number();
    const auto wide = static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    value = static_cast<T>(wide);
    if (value != wide) failed_ = true;
  }
  void get(ReplyStatus& value) { get_enum(value, ReplyStatus::fatal); }
  void get(NoReply::Why& value) { get_enum(value, NoReply::Why::lost); }
  void get(Verdict::Kind& value) { get_enum(value, Verdict::Kind::retry); }
  void get(JobStatus& value) { get_enum(value, JobStatus::paused); }
  void get(ActivityStatus& value) { get_enum(value, ActivityStatus::skipped); }
  void get(Announce::What& value) { get_enum(value, Announce::What::end); }
  void get(double& value) { value = std::bit_cast<double>(number()); }
  void get(Speaker& value) { get_enum(value, Speaker::cycle); }
  void get(TimeUp::What& value) { get_enum(value, TimeUp::What::retry); }
  template <class T>
  void get_enum(T& value, T last) {
    const std::uint64_t read = number();
    if (read > static_cast<std::uint64_t>(last))
      failed_ = true;
    else
      value = static_cast<T>(read);
  }
  void get(std::string& text) { text = bytes(); }
  void get(Payload& payload) { payload = Payload(bytes()); }
  void get(ledger::Dimensions& at) { keep(at, ledger::Dimensions::parse(bytes())); }
  void get(ledger::ActivityLedger& ledger) { keep(ledger, ledger::ActivityLedger::decode(number())); }
  void get(ledger::MessageLedger& ledger) { keep(ledger, ledger::MessageLedger::decode(number())); }
  void get(Instant& at) {
    std::int64_t micros = 0;
    get(micros);
    at = Instant::from_micros(micros);
  }
  void get(Duration& time) {
    std::int64_t micros = 0;
    get(micros);
    time = Duration(micros);
  }
  template <class Tag, class Rep>
  void get(Strong<Tag, Rep>& value) {
    Rep raw{};
    get(raw);
    value = Strong<Tag, Rep>(std::move(raw));
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool present = false;
    get(present);
    if (failed_ || !present) return;
    T inner = blank<T>();
    get(inner);
    value = std::move(inner);
  }
  template <class T>
  void get(std::vector<T>& values) {
    const std::uint64_t count = number();
    for (std::uint64_t i = 0; i < count && !failed_; ++i) {
      T value = blank<T>();
      get(value);
      values.push_back(std::move(value));
    }
  }
  template <class... Ts>
  void get(std::variant<Ts...>& value) {
    const std::uint64_t index = number();
    if (index >= sizeof...(Ts)) {
      failed_ = true;
      return;
    }
    get_alternative<0>(value, index);
  }
  template <std::size_t I, class V>
  void get_alternative(V& value, std::uint64_t index) {
    if constexpr (I < std::variant_size_v<V>) {
      if (index != I) return get_alternative<I + 1>(value, index);
      auto alternative = blank<std::variant_alternative_t<I, V>>();
      get(alternative);
      value.template emplace<I>(std::move(alternative));
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& value) { fields_of(*this, value); }

  // A value to decode into; strong types have no default value.
  template <class T>
  static T blank() {
    if constexpr (std::is_default_constructible_v<T>)
      return T{};
    else
      return blank_of(static_cast<T*>(nullptr));
  }
  template <class Tag, class Rep>
  static Strong<Tag, Rep> blank_of(Strong<Tag, Rep>*) {
    return Strong<Tag, Rep>(Rep{});
  }
  template <class First, class... Rest>
  static std::variant<First, Rest...> blank_of(std::variant<First, Rest...>*) {
    return blank<First>();
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace pawl::core
