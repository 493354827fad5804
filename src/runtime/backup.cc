#include "runtime/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/format.h"
#include "runtime/doctor.h"

namespace pawl::runtime {

namespace {

namespace fs = std::filesystem;

Error io_error(const std::string& what, const std::error_code& error) {
  return {ErrorCode::retry_later, format("{}: {}", what, error.message())};
}

// A file, or the entries of a folder.
Status sync_path(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const std::error_code error(errno, std::generic_category());
  if (file >= 0) close(file);
  return synced ? Status{} : Status(io_error(path.string() + " cannot be synced", error));
}

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

// What opening the copy puts beside it: log, lock and the like.
void remove_beside(const fs::path& file) {
  const std::string begins = file.filename().string() + "-";
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder_of(file), ignored))
    if (entry.path().filename().string().starts_with(begins)) found.push_back(entry.path());
  for (const fs::path& one : found) fs::remove(one, ignored);
}

void remove_all(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
  remove_beside(file);
}

Result<Verified> verify_copy(const std::string& path, const SteadyClock& clock) {
  RuntimeOptions options;
  options.store = path;
  auto copy = open_store(options, clock);
  if (!copy) return Error{copy.error().code, "the copy cannot be opened: " + copy.error().detail};
  return verify_store(*copy, {});
}

Status give_name(const fs::path& part, const fs::path& path) {
  if (const auto synced = sync_path(part); !synced) return synced;
  std::error_code error;
  fs::rename(part, path, error);
  if (error) return io_error(format("{} cannot be renamed to {}", part.string(), path.string()), error);
  return sync_path(folder_of(path));
}

}  // namespace

Result<Verified> back_up(OpenedStore& store, const std::string& path, const SteadyClock& clock) {
  const std::string part = path + ".part";
  std::error_code ignored;
  if (fs::exists(path, ignored))
    return Error{ErrorCode::already_exists, format("{} exists; a copy needs a name of its own", path)};
  if (fs::exists(part, ignored))
    return Error{ErrorCode::already_exists,
                 format("{} exists: another backup is writing it, or one was cut off; then remove it", part)};
  const auto copied = store.backup(part);
  auto verified = copied ? verify_copy(part, clock) : Result<Verified>(copied.error());
  if (!verified) {
    remove_all(part);
    return verified.error();
  }
  remove_beside(part);
  const auto named = give_name(part, path);
  if (!named) {
    remove_all(part);
    return named.error();
  }
  return verified;
}

}  // namespace pawl::runtime
