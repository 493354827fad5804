#include "jobs.h"

#include <filesystem>

namespace pawl::bench {

AppText chain(std::uint32_t length) {
  GraphBuilder builder("chain", length);
  builder.trigger("start");
  std::string parent = "start";
  for (std::uint32_t i = 0; i < length; ++i) {
    const std::string name = fmt::format("a{}", i);
    builder.worker(name, "noop").after(parent);
    parent = name;
  }
  return must(builder.build());
}

AppText fan_out(std::uint32_t width) {
  GraphBuilder builder("fan", width);
  builder.trigger("start");
  for (std::uint32_t i = 0; i < width; ++i) builder.worker(fmt::format("a{}", i), "noop").after("start");
  return must(builder.build());
}

void remove_store(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-owner", "-bell"}) std::filesystem::remove(path + suffix);
}

}  // namespace pawl::bench
