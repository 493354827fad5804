#include <cstdio>
#include <cstdlib>

#include "storm_store.h"

namespace storm {

namespace {

constexpr const char* dump_script =
    "SELECT 'job|'||run||'|'||job_id||'|'||graph||'|'||status||'|'||semaphore||'|'||completions\n"
    "  ||'|'||coalesce(CAST(result AS TEXT), '')||'|'||reason FROM jobs;\n"
    "SELECT 'activity|'||run||'|'||seq||'|'||node||'|'||place||'|'||printf('%015d', ledger)\n"
    "  ||'|'||status||'|'||code||'|'||coalesce(CAST(output AS TEXT), '') FROM activities;\n"
    "SELECT 'message|'||run||'|'||activity||'|'||ledger FROM message_view;\n"
    "SELECT 'inbox|'||count(*) FROM inbox_view;\n"
    "SELECT 'work|'||count(*) FROM work_view;\n"
    "SELECT 'mailbox|'||count(*) FROM mailbox_entries;\n"
    "SELECT 'integrity|'||integrity_check FROM pragma_integrity_check;\n";

class SqliteStore final : public StormStore {
 public:
  explicit SqliteStore(const std::string& dir) : path_(dir + "/store.db") {}

  std::string address() const override { return path_; }
  std::optional<std::string> dump(const std::string& dir) override {
    write_text(dir + "/dump.sql", dump_script);
    const std::string command = "sqlite3 -batch '" + path_ + "' < '" + dir + "/dump.sql' > '" + dir + "/dump.txt'";
    if (std::system(command.c_str()) != 0) return "the sqlite3 shell could not dump the store";
    return std::nullopt;
  }

 private:
  const std::string path_;
};

}  // namespace

std::unique_ptr<StormStore> sqlite_store(const std::string& dir) { return std::make_unique<SqliteStore>(dir); }

void write_text(const std::string& path, const char* text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr || std::fputs(text, file) < 0 || std::fclose(file) != 0) std::abort();
}

}  // namespace storm
