#include "store/sqlite/open.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/format.h"

namespace pawl::store::sqlite {

namespace {

// The first 100 bytes of every SQLite file: fields at fixed places, big-endian.
class Header {
 public:
  static constexpr std::size_t size = 100;
  using Bytes = std::array<unsigned char, size>;
  explicit Header(const Bytes& bytes) : bytes_(bytes) {}

  bool is_sqlite() const {
    constexpr std::string_view magic("SQLite format 3\0", 16);
    return std::memcmp(bytes_.data(), magic.data(), magic.size()) == 0;
  }
  std::uint32_t page_bytes() const {
    const std::uint32_t stored = std::uint32_t{bytes_[16]} << 8 | bytes_[17];
    return stored == 1 ? 65'536 : stored;
  }
  std::uint32_t pages() const { return word(28); }
  std::uint32_t version() const { return word(60); }
  std::uint32_t application() const { return word(68); }

 private:
  std::uint32_t word(std::size_t at) const {
    return std::uint32_t{bytes_[at]} << 24 | std::uint32_t{bytes_[at + 1]} << 16 |
           std::uint32_t{bytes_[at + 2]} << 8 | bytes_[at + 3];
  }
  Bytes bytes_;
};

Error bad_file(ErrorCode code, const std::string& path, std::string_view what) {
  return Error{code, format("{} {}", path, what)};
}

bool is_empty_or_missing(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) != 0 || info.st_size == 0;
}

Status check_directory(const std::string& path) {
  const std::filesystem::path file(path);
  const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  struct stat info {};
  if (stat(parent.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return bad_file(
        ErrorCode::not_found, path,
        format("cannot be opened: there is no directory {}; make it first", parent.string()));
  if (faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return bad_file(
        ErrorCode::invalid, path,
        format("cannot be opened: its directory {} is not writable for this user ({}); the log"
               " beside the file needs it",
               parent.string(), std::strerror(errno)));
  return {};
}

// Reads, and only reads, what the file says about itself.
Status check_header(const std::string& path, std::size_t version_max) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};  // a new file
  if (S_ISDIR(info.st_mode))
    return bad_file(ErrorCode::invalid, path, "is a directory; name a file in it");
  if (!S_ISREG(info.st_mode)) return bad_file(ErrorCode::invalid, path, "is not a regular file");
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    return bad_file(ErrorCode::invalid, path,
                    format("cannot be opened for writing ({}); make it writable for this user",
                           std::strerror(errno)));
  Header::Bytes bytes{};
  const ssize_t read = pread(file, bytes.data(), bytes.size(), 0);
  close(file);
  if (info.st_size == 0) return {};  // a new file
  const Header header(bytes);
  if (read != static_cast<ssize_t>(Header::size) || !header.is_sqlite())
    return bad_file(ErrorCode::invalid, path,
                    "is not an SQLite database; name another file, or move this one away");
  if (header.application() != application_id)
    return bad_file(ErrorCode::invalid, path,
                    "is an SQLite database of another program; name another file");
  if (header.version() > version_max)
    return bad_file(
        ErrorCode::unsupported, path,
        format("has version {}, this program knows versions up to {}; use a newer program",
               header.version(), version_max));
  // With a log beside it the file may lag behind its own header.
  const auto expected = static_cast<std::int64_t>(header.pages()) * header.page_bytes();
  if (is_empty_or_missing(path + "-wal") && info.st_size < expected)
    return bad_file(ErrorCode::corrupt, path,
                    format("is damaged: {} bytes long, {} expected; restore it from a backup",
                           info.st_size, expected));
  return {};
}

Status expect(Connection& connection, const char* pragma, std::string_view wanted) {
  const auto value = connection.read_text(pragma);
  if (!value) return value.error();
  if (*value == wanted) return {};
  return Error{ErrorCode::unsupported,
               format("{}: {} is {}, needed is {}", connection.path(), pragma, *value, wanted)};
}

// A new file carries our mark from its first durable byte on: it is written before the log exists.
Status prepare_new(Connection& connection, const Options& options) {
  auto done = connection.execute(format("PRAGMA page_size = {}", options.page_bytes).c_str());
  if (done) done = connection.execute(format("PRAGMA application_id = {}", application_id).c_str());
  return done;
}

Status set_up_writer(Connection& connection, const Options& options) {
  auto done = expect(connection, "PRAGMA journal_mode = WAL", "wal");
  const bool full = options.durability == Durability::full;
  if (done)
    done = connection.execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (done) done = expect(connection, "PRAGMA synchronous", full ? "2" : "1");
  if (done)
    done = connection.execute(
        "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF");
  if (done) done = connection.execute(format("PRAGMA cache_size = -{}", options.cache_kib).c_str());
  sqlite3_wal_autocheckpoint(connection.handle(), 0);
  return done;
}

// The tables that everything hangs on are small enough to be read whole at every start.
Status check_small_tables(Connection& connection) {
  for (const char* check : {"PRAGMA quick_check('store_state')", "PRAGMA quick_check('pools')",
                            "PRAGMA quick_check('lanes')"}) {
    const auto found = connection.read_text(check);
    if (!found) return found.error();
    if (*found != "ok")
      return bad_file(ErrorCode::corrupt, connection.path(),
                      format("is damaged ({}); restore it from a backup", *found));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Connection>> open_file(const std::string& path, const Options& options,
                                              Migrations steps) {
  auto checked = check_directory(path);
  if (checked) checked = check_header(path, steps.size());
  if (!checked) return checked.error();
  const bool is_new = is_empty_or_missing(path);
  const auto mode = is_new ? Connection::Mode::create : Connection::Mode::existing;
  // Links are followed once, so that every process finds the same lock and the same doorbell.
  std::error_code ignored;
  const auto canonical = std::filesystem::weakly_canonical(path, ignored).string();
  auto opened = Connection::open(
      {canonical.empty() ? path : canonical, mode, options.vfs, options.busy_wait});
  if (!opened) return opened.error();
  Connection& connection = **opened;
  // Asked of SQLite, not of the file's size: a process that was killed while it made the file left a
  // journal, and reading it takes the file back to nothing.
  const auto pages = connection.read_number("PRAGMA page_count");
  if (!pages) return pages.error();
  auto done = *pages == 0 ? prepare_new(connection, options) : Status{};
  if (done) done = set_up_writer(connection, options);
  if (done) done = migrate(connection, steps);
  if (done) done = check_small_tables(connection);
  if (!done) return done.error();
  return opened;
}

Result<std::unique_ptr<Connection>> open_again(const Connection& first, const Options& options,
                                               Role role) {
  auto opened =
      Connection::open({first.path(), Connection::Mode::existing, options.vfs, options.busy_wait});
  if (!opened) return opened.error();
  Connection& connection = **opened;
  sqlite3_wal_autocheckpoint(connection.handle(), 0);
  auto done = connection.execute("PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY");
  if (done && role == Role::reader)
    done = connection.execute(
        format("PRAGMA query_only = ON; PRAGMA cache_size = -{}", options.reader_cache_kib)
            .c_str());
  if (!done) return done.error();
  return opened;
}

}  // namespace pawl::store::sqlite
