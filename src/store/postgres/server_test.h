// A PostgreSQL server for tests: it runs in a temporary folder, on a socket there, with fsync on; it is never the
// system's server. It runs as an unprivileged user, because PostgreSQL refuses to run as root.
#pragma once

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::store::postgres {

class TestServer {
 public:
  // The folder with the programs of the newest installed version; empty: there is none.
  static std::filesystem::path programs() {
    if (const char* said = getenv("PAWL_POSTGRES_BIN")) return said;
    std::filesystem::path newest;
    std::error_code none;
    int most = 0;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
      const int number = atoi(version.path().filename().c_str());
      if (number <= most || !std::filesystem::exists(version.path() / "bin" / "postgres")) continue;
      most = number;
      newest = version.path() / "bin";
    }
    return newest;
  }

  // On a disk, or in memory if there is plenty. A sync costs nothing in memory, for tests that are not about the disk.
  enum class Keeps : bool { on_disk, in_memory };

  // Creates and starts a server. None: the reason is on standard error.
  static std::optional<TestServer> start(const std::vector<std::string>& settings = {}, Keeps keeps = Keeps::on_disk) {
    std::error_code missing;
    const auto memory = std::filesystem::space("/dev/shm", missing);
    const bool in_memory = keeps == Keeps::in_memory && !missing && memory.available > memory_wanted;
    const auto parent = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "pawl-pg-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return std::nullopt;
    TestServer server{std::filesystem::path(pattern)};
    const passwd* user = unprivileged();
    if (user != nullptr && chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0) return std::nullopt;
    if (server.run("initdb",
                   {"-D", server.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"}) != 0 ||
        !server.run_server(settings))
      return std::nullopt;
    return server;
  }
  // A server that another process started.
  static TestServer at(const std::filesystem::path& folder) { return TestServer{folder}; }

  // Stops the server as a crash would, unless it is stopped already, and deletes its folder.
  void remove() {
    stop("immediate");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  bool stop(const std::string& mode) const { return run("pg_ctl", {"-D", data(), "-m", mode, "-w", "stop"}) == 0; }
  bool is_running() const { return run("pg_ctl", {"-D", data(), "status"}) == 0; }
  // Kills the main process with SIGKILL; the others end by themselves. Returns when none is left.
  bool kill_postmaster() const {
    pid_t postmaster = 0;
    std::ifstream(data() + "/postmaster.pid") >> postmaster;
    if (postmaster <= 1 || kill(postmaster, SIGKILL) != 0) return false;
    while (has_processes()) usleep(10'000);
    std::error_code ignored;
    // The killed process may be a zombie. Its number would look like that of a running server.
    for (const auto& lock : {std::filesystem::path(data()) / "postmaster.pid", folder_ / ".s.PGSQL.5432.lock"})
      std::filesystem::remove(lock, ignored);
    return true;
  }

  // Starts a standby that follows this server, as `name`.
  std::optional<TestServer> start_standby(const std::string& name) const {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-pg-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return std::nullopt;
    TestServer standby{std::filesystem::path(pattern)};
    const passwd* user = unprivileged();
    if (user != nullptr && chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0) return std::nullopt;
    if (standby.run("pg_basebackup",
                    {"-D", standby.data(), "-d", "host=" + folder_.string() + " user=postgres application_name=" + name,
                     "-R", "-X", "stream", "-c", "fast", "-N"}) != 0 ||
        !standby.run_server())
      return std::nullopt;
    return standby;
  }
  bool promote() const { return run("pg_ctl", {"-D", data(), "-w", "promote"}) == 0; }
  bool run_server(const std::vector<std::string>& settings = {}) const {
    std::string options = "-c listen_addresses='' -c unix_socket_directories=" + folder_.string() +
                          " -c fsync=on -c max_connections=200 -c shared_buffers=64MB -c logging_collector=off"
                          " -c autovacuum_naptime=10s -c log_line_prefix='%m [%p] %d '";
    for (const std::string& setting : settings) options += " -c " + setting;
    return run("pg_ctl", {"-D", data(), "-l", log().string(), "-o", options, "-w", "-t", "60", "start"}) == 0;
  }

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path log() const { return folder_ / "log"; }
  std::string address(const std::string& database = "postgres") const {
    return "postgres:///" + database + "?user=postgres&host=" + folder_.string();
  }

 private:
  static constexpr std::uintmax_t memory_wanted = std::uintmax_t{4} << 30;  // it uses a tenth of that
  explicit TestServer(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::string data() const { return (folder_ / "data").string(); }

  // Whether this server has processes: all of them run in its data folder.
  bool has_processes() const {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none))
      if (std::filesystem::read_symlink(entry.path() / "cwd", none) == data()) return true;
    return false;
  }

  // Null: this process is not root, and needs no other user.
  static const passwd* unprivileged() {
    if (geteuid() != 0) return nullptr;
    const passwd* user = getpwnam("postgres");
    return user != nullptr ? user : getpwnam("nobody");
  }

  // Returns its exit code.
  int run(const std::string& program, std::vector<std::string> arguments) const {
    const std::string path = (programs() / program).string();
    const std::string output = (folder_ / (program + ".out")).string();
    const passwd* user = unprivileged();
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (user != nullptr && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) _exit(126);
      const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (to < 0 || chdir(folder_.c_str()) != 0) _exit(126);
      dup2(to, STDOUT_FILENO);
      dup2(to, STDERR_FILENO);
      execv(path.c_str(), argv.data());
      _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) return -1;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && program != "pg_ctl") {
      std::ifstream said(output);
      fprintf(stderr, "%s: exit code %d\n%s\n", path.c_str(), code,
              std::string(std::istreambuf_iterator<char>(said), {}).c_str());
    }
    return code;
  }

  std::filesystem::path folder_;
};

}  // namespace pawl::store::postgres
