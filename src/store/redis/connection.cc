#include "store/redis/connection.h"

#include <hiredis/read.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/format.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t read_bytes = 64u << 10;

// hiredis parses, and builds our replies with these functions.
Reply& reply_for(const redisReadTask* task) {
  if (task->parent == nullptr) return *new Reply;
  return static_cast<Reply*>(task->parent->obj)->list[static_cast<std::size_t>(task->idx)];
}

void* make_text(const redisReadTask* task, char* text, std::size_t bytes) {
  Reply& reply = reply_for(task);
  reply.kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::error
               : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                                                  : Reply::Kind::bytes;
  reply.text.assign(text, bytes);
  return &reply;
}
void* make_list(const redisReadTask* task, int elements) {
  Reply& reply = reply_for(task);
  reply.kind = Reply::Kind::list;
  reply.list.resize(static_cast<std::size_t>(elements));
  return &reply;
}
void* make_integer(const redisReadTask* task, long long value) {
  Reply& reply = reply_for(task);
  reply.kind = Reply::Kind::integer;
  reply.integer = value;
  return &reply;
}
void* make_nil(const redisReadTask* task) {
  Reply& reply = reply_for(task);
  reply.kind = Reply::Kind::nil;
  return &reply;
}
void free_reply(void* reply) { delete static_cast<Reply*>(reply); }

redisReplyObjectFunctions reply_functions = {make_text, make_list, make_integer, make_nil, free_reply};

}  // namespace

void Commands::add(std::span<const std::string_view> words) {
  constexpr std::size_t frame_bytes = 16;  // around a word, in nearly all cases
  std::size_t bytes = frame_bytes;
  for (const std::string_view word : words) bytes += word.size() + frame_bytes;
  if (bytes_.capacity() < bytes_.size() + bytes) bytes_.reserve(std::max(bytes_.size() + bytes, 2 * bytes_.capacity()));
  put_size('*', words.size());
  for (const std::string_view word : words) {
    put_size('$', word.size());
    bytes_ += word;
    bytes_ += "\r\n";
  }
  ++count_;
}

void Commands::put_size(char kind, std::size_t size) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), size).ptr;
  bytes_ += kind;
  bytes_.append(digits, end);
  bytes_ += "\r\n";
}

void Commands::add(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  add(std::span(views));
}

void Connection::FreeReader::operator()(redisReader* reader) const { redisReaderFree(reader); }

Connection::Connection(Address address, std::unique_ptr<Transport> transport, std::chrono::milliseconds reply_timeout)
    : address_(std::move(address)),
      transport_(std::move(transport)),
      reply_timeout_(reply_timeout),
      reader_(redisReaderCreateWithFunctions(&reply_functions)),
      buffer_(read_bytes, '\0') {
  reader_->maxbuf = 0;
}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, const ConnectionOptions& options) {
  auto transport = options.tls ? connect_tls(address, options.tls_options, options.connect_timeout)
                               : connect_plain(address, options.connect_timeout);
  if (!transport) return transport.error();
  std::unique_ptr<Connection> made(new Connection(address, std::move(*transport), options.reply_timeout));
  if (const auto greeted = made->greet(options); !greeted) return greeted.error();
  return made;
}

// Any error here happened before the first command.
Status Connection::greet(const ConnectionOptions& options) {
  Commands commands;
  if (!options.password.empty()) {
    if (options.user.empty())
      commands.add({"AUTH", options.password});
    else
      commands.add({"AUTH", options.user, options.password});
  }
  if (options.database != 0) commands.add({"SELECT", format("{}", options.database)});
  if (commands.count() == 0) return {};
  const auto replies = ask(commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  for (const Reply& reply : *replies)
    if (reply.is_error())
      return Error{ErrorCode::invalid, format("{} refuses this client: {}", address_.text(), reply.text)};
  return {};
}

Status Connection::send(const Commands& commands) {
  auto sent = transport_->write(commands.bytes(), reply_timeout_);
  if (!sent) broken_ = true;
  return sent;
}

Result<std::optional<Reply>> Connection::receive(std::chrono::milliseconds timeout) {
  for (;;) {
    void* made = nullptr;
    if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
      broken_ = true;
      return Error{ErrorCode::corrupt, format("{} does not speak the protocol of Redis", address_.text())};
    }
    if (made != nullptr) {
      const std::unique_ptr<Reply> reply(static_cast<Reply*>(made));
      return std::optional<Reply>(std::move(*reply));
    }
    const auto got = transport_->read(buffer_.data(), buffer_.size(), timeout);
    if (!got && got.error().code == ErrorCode::retry_later) return std::optional<Reply>();
    if (!got) {
      broken_ = true;
      return got.error();
    }
    redisReaderFeed(reader_.get(), buffer_.data(), *got);
  }
}

Result<std::vector<Reply>> Connection::ask(const Commands& commands) {
  // If only a part of the commands arrived, it does nothing; but all of them may have arrived.
  const auto unknown = [&](const std::string& why) {
    broken_ = true;
    return Error{ErrorCode::outcome_unknown, format("{}: {}", address_.text(), why)};
  };
  if (const auto sent = send(commands); !sent) return unknown(sent.error().detail);
  std::vector<Reply> replies;
  replies.reserve(commands.count());
  while (replies.size() < commands.count()) {
    auto reply = receive(reply_timeout_);
    if (!reply) return unknown(reply.error().detail);
    if (!*reply) return unknown("no answer in time");
    replies.push_back(std::move(**reply));
  }
  return replies;
}

Result<Reply> Connection::ask_one(std::initializer_list<std::string_view> words) {
  Commands commands;
  commands.add(words);
  auto replies = ask(commands);
  if (!replies) return replies.error();
  return std::move(replies->front());
}

}  // namespace pawl::store::redis
