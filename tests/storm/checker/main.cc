// storm_checker DIR: reads what a storm left in DIR and prints the violations. Exit code 0 when there are none. It
// links no code of the engine, so that one bug cannot hide in both.
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "check.h"
#include "history.h"

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::cerr << "usage: storm_checker DIR\n";
    return 2;
  }
  constexpr std::size_t shown_max = 50;
  const storm::Report report = storm::check(storm::read_directory(argv[1]));
  const storm::Figures& f = report.figures;
  std::cout << "checker: " << f.jobs << " jobs, " << f.submits << " submits (" << f.answered << " answered, "
            << f.refused << " refused), " << f.attempts << " attempts, " << f.repeated << " repeated, " << f.cut
            << " cut; " << report.violations.size() << " violations\n";
  for (std::size_t i = 0; i < report.violations.size() && i < shown_max; ++i)
    std::cout << "  " << report.violations[i] << "\n";
  return report.violations.empty() ? 0 : 1;
}
