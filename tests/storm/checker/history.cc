#include "history.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace storm {

namespace {

// Splits at `separator`; the last field takes the rest of the line.
std::vector<std::string> split(std::string_view line, char separator, std::size_t fields_max) {
  std::vector<std::string> fields;
  while (fields.size() + 1 < fields_max) {
    const auto at = line.find(separator);
    if (at == std::string_view::npos) break;
    fields.emplace_back(line.substr(0, at));
    line.remove_prefix(at + 1);
  }
  fields.emplace_back(line);
  return fields;
}

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

std::optional<JournalLine> journal_line(std::string_view text) {
  const auto fields = split(text, ' ', 9);
  JournalLine line;
  if (fields.size() != 9) return std::nullopt;
  line.key = fields[0];
  line.worker = fields[2];
  line.is_end = fields[3] == "end";
  line.run = fields[6];
  line.topic = fields[7];
  line.input = fields[8];
  const bool phase = line.is_end || fields[3] == "begin";
  const bool numbers =
      read_number(fields[1], line.attempt) && read_number(fields[4], line.at) && read_number(fields[5], line.seq);
  if (!phase || !numbers || line.key.empty()) return std::nullopt;
  return line;
}

std::optional<ClientLine> client_line(std::string_view text) {
  const auto words = split(text, ' ', 3);
  if (words.size() != 3) return std::nullopt;
  ClientLine line;
  line.id = words[1];
  if (words[0] == "submit") {
    const auto rest = split(words[2], ' ', 2);
    if (rest.size() != 2) return std::nullopt;
    line.kind = ClientLine::Kind::submit;
    line.graph = rest[0];
    line.input = rest[1];
  } else if (words[0] == "accepted" || words[0] == "exists") {
    line.kind = words[0] == "exists" ? ClientLine::Kind::exists : ClientLine::Kind::accepted;
    line.run = words[2];
  } else if (words[0] == "error") {
    line.kind = ClientLine::Kind::error;
    line.text = words[2];
  } else if (words[0] == "closed") {
    const auto rest = split(words[2], ' ', 3);
    if (rest.size() != 3) return std::nullopt;
    line.kind = ClientLine::Kind::closed;
    line.run = rest[0];
    line.status = rest[1];
    line.text = rest[2];
  } else {
    return std::nullopt;
  }
  return line;
}

bool add_row(History& history, std::string_view text) {
  const std::string kind(text.substr(0, text.find('|')));
  if (kind == "job") {
    const auto f = split(text, '|', 9);
    JobRow row;
    if (f.size() != 9 || !read_number(f[4], row.status) || !read_number(f[5], row.semaphore) ||
        !read_number(f[6], row.completions))
      return false;
    row.run = f[1];
    row.id = f[2];
    row.graph = f[3];
    row.result = f[7];
    row.reason = f[8];
    history.jobs.push_back(std::move(row));
  } else if (kind == "activity") {
    const auto f = split(text, '|', 9);
    ActivityRow row;
    if (f.size() != 9 || !read_number(f[2], row.seq) || !read_number(f[3], row.node) ||
        !read_number(f[6], row.status) || !read_number(f[7], row.code))
      return false;
    row.run = f[1];
    row.place = f[4];
    row.ledger = f[5];
    row.output = f[8];
    history.activities.push_back(std::move(row));
  } else if (kind == "message") {
    const auto f = split(text, '|', 4);
    MessageRow row;
    if (f.size() != 4 || !read_number(f[2], row.activity)) return false;
    row.run = f[1];
    row.ledger = f[3];
    history.messages.push_back(std::move(row));
  } else if (kind == "inbox" || kind == "work" || kind == "mailbox") {
    const auto f = split(text, '|', 2);
    std::int64_t rows = 0;
    if (f.size() != 2 || !read_number(f[1], rows)) return false;
    (kind == "inbox" ? history.inbox_rows : kind == "work" ? history.work_rows : history.mailbox_rows) = rows;
  } else if (kind == "integrity") {
    history.integrity = text.substr(text.find('|') + 1);
  } else {
    return false;
  }
  return true;
}

// A kill can cut the line that was being written: its process had no confirmation that it was on disk, so it counts as
// not written. Only the last line of a file can be such a line.
std::string_view without_torn_tail(std::string_view text) {
  const auto end = text.rfind('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

void add_journal(History& history, std::string_view text) {
  auto& lines = history.journals.emplace_back();
  for_each_line(without_torn_tail(text), [&](std::string_view line) {
    if (auto read = journal_line(line))
      lines.push_back(std::move(*read));
    else
      history.unreadable.push_back("journal: " + std::string(line));
  });
}

void add_client(History& history, std::string_view text) {
  auto& lines = history.clients.emplace_back();
  for_each_line(without_torn_tail(text), [&](std::string_view line) {
    if (auto read = client_line(line))
      lines.push_back(std::move(*read));
    else
      history.unreadable.push_back("client log: " + std::string(line));
  });
}

void add_dump(History& history, std::string_view text) {
  for_each_line(text, [&](std::string_view line) {
    if (!add_row(history, line)) history.unreadable.push_back("dump: " + std::string(line));
  });
}

History read_directory(const std::string& path) {
  History history;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("journal-", 0) == 0) add_journal(history, read_file(entry.path()));
    if (name.rfind("client-", 0) == 0) add_client(history, read_file(entry.path()));
    if (name == "dump.txt") add_dump(history, read_file(entry.path()));
  }
  return history;
}

}  // namespace storm
