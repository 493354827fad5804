// From any function to a Worker: which functions Runtime::serve takes, and how their return values become replies. You
// need it only to call a worker without a runtime:
//
//   const pawl::Worker worker = pawl::worker_of([](pawl::Work& work) { return work.input(); });
//   const pawl::Reply reply = pawl::reply_of(pawl::Failure{.code = 404, .message = "no such order"});
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "pawl/codec.h"
#include "pawl/failure.h"
#include "pawl/finding.h"
#include "pawl/result.h"
#include "pawl/transaction.h"
#include "pawl/worker.h"

namespace pawl {

namespace detail {

template <class T>
inline constexpr bool is_result = false;
template <class T, class E>
inline constexpr bool is_result<Result<T, E>> = true;

// The parameters of a function that has one signature.
template <class F>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<std::function<R(A...)>> {
  using Returned = R;
  using Parameters = std::tuple<A...>;
};
template <class F>
concept HasSignature = requires(F function) {
  std::function(function);
};

template <class Parameter, class T>
inline constexpr bool is_a = std::same_as<std::remove_cvref_t<Parameter>, T>;
// Parameters that are not data: they are passed by reference.
template <class Parameter>
inline constexpr bool is_context = is_a<Parameter, Work> || is_a<Parameter, Transaction>;
// The input is read-only.
template <class Parameter>
inline constexpr bool is_input = !is_context<Parameter> && (!std::is_lvalue_reference_v<Parameter> ||
                                                            std::is_const_v<std::remove_reference_t<Parameter>>);

// The input comes first, then Work&, then Transaction&, each if the function takes it.
template <class... A>
struct Shape {
  static constexpr bool ok = true;
  static constexpr bool with_transaction = false;
  using Input = void;
};
template <class First, class... Rest>
struct Shape<First, Rest...> {
  static constexpr bool context_by_reference =
      (!is_context<First> || std::is_lvalue_reference_v<First>)&&(... && std::is_lvalue_reference_v<Rest>);
  static constexpr int works = (int{is_a<First, Work>} + ... + int{is_a<Rest, Work>});
  static constexpr int transactions = (int{is_a<First, Transaction>} + ... + int{is_a<Rest, Transaction>});
  static constexpr bool with_transaction = transactions > 0;
  static constexpr bool ok = (is_context<First> || is_input<First>)&&(... && is_context<Rest>)&&context_by_reference &&
                             works <= 1 && transactions <= 1;
  using Input = std::conditional_t<is_context<First>, void, std::remove_cvref_t<First>>;
};
template <class Tuple>
struct ShapeOf;
template <class... A>
struct ShapeOf<std::tuple<A...>> : Shape<A...> {};
template <class F>
using FunctionShape = ShapeOf<typename SignatureOf<decltype(std::function(std::declval<F&>()))>::Parameters>;

struct Surroundings {
  Work* work;
  Transaction* sql;

  template <class Parameter>
  auto& get() const {
    if constexpr (std::same_as<std::remove_cvref_t<Parameter>, Work>)
      return *work;
    else
      return *sql;
  }
};

template <class F, class First, class... Rest, class Input>
decltype(auto) call_with(F& function, const Surroundings& around, std::tuple<First, Rest...>*, Input&& input) {
  return function(std::forward<Input>(input), around.template get<Rest>()...);
}
template <class F, class... A>
decltype(auto) call_without(F& function, const Surroundings& around, std::tuple<A...>*) {
  return function(around.template get<A>()...);
}

}  // namespace detail

// The reply for a returned value.
template <class T>
requires(!detail::is_result<T> && !std::same_as<T, Reply> && !std::same_as<T, Payload> && !std::same_as<T, Failure> &&
         !std::same_as<T, Error>) Reply reply_of(const T& value) {
  auto bytes = encode(value);
  if (bytes) return Reply::success(std::move(*bytes));
  return Reply(Failure{.code = 500,
                       .message = "the worker's result cannot be written: " + bytes.error().detail,
                       .data = {},
                       .retryable = false});
}
inline Reply reply_of(Reply reply) { return reply; }
inline Reply reply_of(Payload bytes) { return Reply::success(std::move(bytes)); }
inline Reply reply_of(const Failure& failure) { return Reply(failure); }
inline Reply reply_of(const Error& error) { return Reply(Failure{.code = 500, .message = to_string(error)}); }
template <class T, class E>
Reply reply_of(const Result<T, E>& result) {
  if (!result) return reply_of(result.error());
  if constexpr (std::is_void_v<T>)
    return Reply::success();
  else
    return reply_of(*result);
}
namespace detail {

template <class Returned, class Call>
Reply reply_by(const Call& call) {
  if constexpr (std::is_void_v<Returned>) {
    call();
    return Reply::success();
  } else {
    return reply_of(call());
  }
}

// An input of the wrong type stays wrong: another attempt would not change that.
inline Reply wrong_input(const Work& work, const Error& error) {
  return Reply(Failure{.code = 400,
                       .message = "the input of topic " + work.topic().raw() + ": " + error.detail,
                       .data = {},
                       .retryable = false});
}

template <class F>
Reply call_user_function(F& function, const Surroundings& around) {
  using Signature = SignatureOf<decltype(std::function(function))>;
  using Parameters = typename Signature::Parameters;
  using Returned = typename Signature::Returned;
  using Input = typename ShapeOf<Parameters>::Input;
  constexpr Parameters* parameters = nullptr;
  if constexpr (std::is_void_v<Input>) {
    return reply_by<Returned>([&]() -> decltype(auto) { return call_without(function, around, parameters); });
  } else {
    auto input = around.work->template input_as<Input>();
    if (!input) return wrong_input(*around.work, input.error());
    return reply_by<Returned>(
        [&]() -> decltype(auto) { return call_with(function, around, parameters, std::move(*input)); });
  }
}

}  // namespace detail

// A worker of any sensible signature: (const Input&), (const Input&, Work&), (Work&) or (). A lambda with `auto`
// parameters takes (Work&).
template <class F>
Worker worker_of(F function) {
  if constexpr (std::same_as<F, Worker>) {
    return function;
  } else if constexpr (detail::HasSignature<F> && std::copy_constructible<F>) {
    using Shape = detail::FunctionShape<F>;
    static_assert(
        Shape::ok && !Shape::with_transaction,
        "pawl: a worker takes (const Input&), (const Input&, pawl::Work&), (pawl::Work&) or nothing; one that "
        "takes a pawl::Transaction& is served by serve_transaction");
    if constexpr (Shape::ok && !Shape::with_transaction)
      return [function = std::move(function)](Work& work) mutable {
        return detail::call_user_function(function, {&work, nullptr});
      };
    else
      return {};
  } else {
    static_assert(std::copy_constructible<F> && std::invocable<F&, Work&>,
                  "pawl: a worker is a copyable function that takes (const Input&), (const Input&, pawl::Work&), "
                  "(pawl::Work&) or nothing; one with `auto` parameters takes (pawl::Work&)");
    if constexpr (std::copy_constructible<F> && std::invocable<F&, Work&>)
      return [function = std::move(function)](Work& work) mutable {
        return detail::reply_by<std::invoke_result_t<F&, Work&>>([&]() -> decltype(auto) { return function(work); });
      };
    else
      return {};
  }
}

// The same with the store's transaction: (const Input&, Work&, Transaction&), (Work&, Transaction&), (Transaction&) ...
template <class F>
TransactionWorker transaction_worker_of(F function) {
  if constexpr (std::same_as<F, TransactionWorker>) {
    return function;
  } else {
    static_assert(detail::HasSignature<F> && std::copy_constructible<F>,
                  "pawl: a worker with a transaction is a copyable function that takes (const Input&, pawl::Work&, "
                  "pawl::Transaction&), or some of them in this order, without `auto`");
    if constexpr (detail::HasSignature<F> && std::copy_constructible<F>) {
      static_assert(detail::FunctionShape<F>::ok,
                    "pawl: a worker with a transaction takes (const Input&, pawl::Work&, pawl::Transaction&), or some "
                    "of them in this order");
      if constexpr (detail::FunctionShape<F>::ok)
        return [function = std::move(function)](Work& work, Transaction& sql) mutable {
          return detail::call_user_function(function, {&work, &sql});
        };
    }
    return {};
  }
}

// A probe takes (const Work&) and returns a Finding.
template <class F>
Probe probe_of(F function) {
  static_assert(std::is_constructible_v<Probe, F>,
                "pawl: a probe takes (const pawl::Work&) and returns a pawl::Finding");
  if constexpr (std::is_constructible_v<Probe, F>)
    return Probe(std::move(function));
  else
    return {};
}

}  // namespace pawl
