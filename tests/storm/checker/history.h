// What a storm left, as records: the workers' journals, the clients' logs and the dump of the store. Read from text
// only; nothing here uses the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace storm {

struct JournalLine {
  std::string key;
  std::uint64_t attempt = 0;
  std::string worker;
  bool is_end = false;
  std::int64_t at = 0;
  std::uint64_t seq = 0;
  std::string run, topic, input;
};

struct ClientLine {
  enum class Kind : std::uint8_t { submit, accepted, exists, error, closed };
  Kind kind = Kind::submit;
  std::string id;
  std::string graph, input;  // of a submit
  std::string run;           // of accepted, exists, closed
  std::string status, text;  // of closed; text: of an error
};

struct JobRow {
  std::string run, id, graph;
  std::int64_t status = 0, semaphore = 0, completions = 0;
  std::string result, reason;
};
struct ActivityRow {
  std::string run;
  std::int64_t seq = 0, node = 0;
  std::string place, ledger;  // ledger: 15 digits
  std::int64_t status = 0, code = 0;
  std::string output;
};
struct MessageRow {
  std::string run;
  std::int64_t activity = 0;
  std::string ledger;
};

struct History {
  std::vector<std::vector<JournalLine>> journals;  // one per process
  std::vector<std::vector<ClientLine>> clients;    // one per slot
  std::vector<JobRow> jobs;
  std::vector<ActivityRow> activities;
  std::vector<MessageRow> messages;
  std::optional<std::int64_t> inbox_rows, work_rows;
  std::optional<std::int64_t> mailbox_rows;  // registrations and signals without a partner
  std::string integrity;
  std::vector<std::string> unreadable;  // lines of none of these kinds
};

// Each adds one file's text.
void add_journal(History& history, std::string_view text);
void add_client(History& history, std::string_view text);
void add_dump(History& history, std::string_view text);

// All files of a storm's directory: journal-*.log, client-*.log, dump.txt.
History read_directory(const std::string& path);

}  // namespace storm
