// Starts and stops the server that a run of the tests shares: postgres_server start|stop FILE. The file says where it is.
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: postgres_server start|stop FILE\n");
    return 2;
  }
  stop_server(argv[2]);  // also before a start: of a run that was interrupted
  if (std::string(argv[1]) == "stop") return 0;
  const auto server = TestServer::start({"max_wal_size=256MB"}, TestServer::Keeps::in_memory);
  if (!server) return 1;
  std::ofstream(argv[2]) << server->folder().string() << "\n";
  return 0;
}
