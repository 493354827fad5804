// Whether an effect happened that is unknown: an at-most-once activity began, and its worker crashed before it replied.
// A probe finds it out automatically; otherwise a person decides, with Job::settle.
//
//   pawl::Status look_at_the_bank(pawl::Runtime& runtime) {
//     return runtime.probe("payments.charge", [](const pawl::Work& work) {
//       const bool paid = work.key() == "the bank knows it";
//       return paid ? pawl::Finding::done(pawl::Payload("{}")) : pawl::Finding::not_done();
//     });
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "pawl/codec.h"
#include "pawl/failure.h"
#include "pawl/payload.h"
#include "pawl/worker.h"

namespace pawl {

class Finding {
 public:
  enum class Kind : std::uint8_t { done, failed, not_done, cannot_tell };

  // It happened: this is its output, as if the worker had replied.
  template <class T>
  static Finding done(const T& output, std::int32_t code = 200) {
    auto bytes = encode(output);
    if (!bytes) return failed(Failure{.code = 500, .message = bytes.error().detail});
    return {Kind::done, code, std::move(*bytes)};
  }
  // It did not happen, and another attempt would not change that.
  static Finding failed(const Failure& failure) { return failed(to_payload(failure), failure.code); }
  static Finding failed(Payload error, std::int32_t code) { return {Kind::failed, code, std::move(error)}; }
  static Finding not_done() { return {Kind::not_done, 0, {}}; }        // it did not happen: do it now
  static Finding cannot_tell() { return {Kind::cannot_tell, 0, {}}; }  // of a probe: leave it to a person

  Kind kind() const { return kind_; }
  std::int32_t code() const { return code_; }
  const Payload& data() const { return data_; }

 private:
  Finding(Kind kind, std::int32_t code, Payload data) : kind_(kind), code_(code), data_(std::move(data)) {}
  Kind kind_;
  std::int32_t code_;
  Payload data_;
};

using Probe = std::function<Finding(const Work&)>;

}  // namespace pawl
