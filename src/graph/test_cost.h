// Processor time, and the unit for tests of it: the time that yaml-cpp alone takes for a text, with an empty event
// handler. A busy machine slows both, so a ratio is stable where milliseconds are not.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>

#include <ctime>
#include <sstream>
#include <string>

namespace pawl::graph {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;  // shadow memory and checks make the figures meaningless
#else
inline constexpr bool sanitized = false;
#endif

inline double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

class DeafHandler final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

inline double bare_yaml_ms(const std::string& text) {
  const double before = cpu_ms();
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DeafHandler deaf;
  while (parser.HandleNextDocument(deaf)) {
  }
  return cpu_ms() - before;
}

}  // namespace pawl::graph
