// The bytes of an input or an output: immutable, cheap to copy, JSON by convention.
//
//   const pawl::Payload input("{\"sum\": 20}");
//   const std::string_view text = input.view();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

class Payload {
 public:
  Payload() = default;
  Payload(std::string bytes)
      : bytes_(bytes.empty() ? nullptr : std::make_shared<const std::string>(std::move(bytes))) {}
  Payload(const char* text) : Payload(std::string(text)) {}
  explicit Payload(std::string_view text) : Payload(std::string(text)) {}

  std::string_view view() const { return bytes_ ? std::string_view(*bytes_) : std::string_view(); }
  std::string str() const { return std::string(view()); }
  bool empty() const { return bytes_ == nullptr; }
  std::size_t size() const { return view().size(); }

  friend bool operator==(const Payload& a, const Payload& b) { return a.view() == b.view(); }

 private:
  // Shared because one output is used by the activity row, the next request and the worker at once; it is never written
  // after construction.
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace pawl
