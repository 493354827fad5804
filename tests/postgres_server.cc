// Starts and stops the server that the tests share: postgres_server start|stop|crash FILE. The file names its place; a
// crash is kill -9, followed by a start.
#include <cstdio>
#include <fstream>
#include <string>

#include "store/postgres/server_test.h"

using pawl::store::postgres::TestServer;

namespace {

void stop_server(const std::string& file) {
  std::string folder;
  std::ifstream(file) >> folder;
  if (!folder.empty() && std::filesystem::exists(folder)) TestServer::at(folder).remove();
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
}

int crash_server(const std::string& file) {
  std::string folder;
  std::ifstream(file) >> folder;
  int pid = 0;
  std::ifstream(std::filesystem::path(folder) / "data" / "postmaster.pid") >> pid;
  if (pid <= 1 || kill(pid, SIGKILL) != 0) return 1;
  // Its sessions end when they notice: only then may another server start.
  for (int tries = 0; tries < 300; ++tries) {
    if (TestServer::at(folder).run_server()) return 0;
    usleep(100'000);
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: postgres_server start|stop|crash FILE\n");
    return 2;
  }
  if (std::string(argv[1]) == "crash") return crash_server(argv[2]);
  stop_server(argv[2]);  // also before a start: interrupted tests may have left a server
  if (std::string(argv[1]) == "stop") return 0;
  const auto server = TestServer::start({"max_wal_size=256MB"}, TestServer::Keeps::in_memory);
  if (!server) return 1;
  std::ofstream(argv[2]) << server->folder().string() << "\n";
  return 0;
}
