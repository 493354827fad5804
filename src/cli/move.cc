// pawl move --from STORE --to STORE: a stopped store becomes another one, of any kind.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/shown_store.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "pawl/move.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

struct MoveArguments {
  std::string from, to;
  bool undo = false;
  bool accept_weaker = false;
  bool json = false;
  bool no_color = false;
};

// On a terminal a bar that is redrawn in place; otherwise a line from time to time.
class Bar {
 public:
  explicit Bar(const MoveArguments& options)
      : is_terminal_(isatty(STDERR_FILENO) == 1), quiet_(options.json && !is_terminal_) {}
  ~Bar() { clear(); }

  void show(const MoveProgress& progress) {
    if (quiet_) return;
    const auto now = std::chrono::steady_clock::now();
    const bool is_new = progress.checking != checking_ || !shown_;
    if (!is_new && now - last_ < (is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(5))) return;
    last_ = now;
    checking_ = progress.checking;
    shown_ = true;
    const double part =
        progress.jobs_total == 0 ? 1.0 : static_cast<double>(progress.jobs) / static_cast<double>(progress.jobs_total);
    const std::string said = fmt::format("{} of {} jobs, {} records, {:.1f} MB", progress.jobs, progress.jobs_total,
                                         progress.records, static_cast<double>(progress.bytes) / 1e6);
    const char* what = progress.checking ? "checking" : "copying";
    if (!is_terminal_) {
      fmt::print(stderr, "{} {:3.0f} %: {}\n", what, part * 100, said);
      return;
    }
    const int full = static_cast<int>(part * width);
    fmt::print(stderr, "\r\033[K{:<8} [{:#<{}}{:.<{}}] {:3.0f} %  {}", what, "", full, "", width - full, part * 100,
               said);
    std::fflush(stderr);
  }
  void clear() {
    if (is_terminal_ && shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  static constexpr int width = 30;
  const bool is_terminal_;
  const bool quiet_;
  bool shown_ = false;
  bool checking_ = false;
  std::chrono::steady_clock::time_point last_;
};

int undo(const MoveArguments& options) {
  if (const auto undone = undo_move({options.from, options.accept_weaker}); !undone)
    return fail("move", undone.error());
  if (options.json)
    fmt::print("{{\"ok\":true}}\n");
  else
    fmt::print("{} can be used again. Never use its copy beside it: both would do the same work\n",
               shown_store(options.from));
  return 0;
}

void print(const MoveArguments& options, const MoveReport& report, double seconds) {
  if (options.json) {
    json::array kinds;
    for (const MoveReport::Kind& kind : report.kinds)
      kinds.push_back(json::object{{"kind", kind.name}, {"records", kind.records}, {"checksum", kind.checksum}});
    fmt::print("{}\n", json::serialize(json::object{{"from", shown_store(options.from)},
                                                    {"to", shown_store(options.to)},
                                                    {"records", report.records},
                                                    {"bytes", report.bytes},
                                                    {"delivered", report.delivered},
                                                    {"seconds", seconds},
                                                    {"kinds", std::move(kinds)}}));
    return;
  }
  const Paint paint = Paint::for_stdout(!options.no_color);
  for (const MoveReport::Kind& kind : report.kinds)
    fmt::print("{:>12}  {:<22} {}\n", kind.records, kind.name, paint(Ink::dim, kind.checksum));
  if (report.delivered > 0)
    fmt::print("{:>12}  messages between jobs were on their way, and are delivered\n", report.delivered);
  fmt::print("{} is moved to {} in {:.1f} s; both have these checksums\n", shown_store(options.from),
             shown_store(options.to), seconds);
  fmt::print("{} is a backup now and is not opened for work; pawl move --undo --from {} would change that\n",
             shown_store(options.from), shown_store(options.from));
}

int run_move(const MoveArguments& options) {
  if (options.undo) return undo(options);
  if (options.to.empty()) return fail("move", Error{ErrorCode::invalid, "name the store to move to: --to STORE"});
  const Interruption interruption;
  Bar bar(options);
  const auto began = std::chrono::steady_clock::now();
  const auto moved = move_store({options.from, options.to, options.accept_weaker, [&](const MoveProgress& progress) {
                                   bar.show(progress);
                                   return !interruption.asked();
                                 }});
  bar.clear();
  if (!moved && interruption.asked()) {
    fmt::print(stderr, "pawl move: interrupted; {} is as it was. Run the same command again: it starts over\n",
               shown_store(options.from));
    return exit_code_interrupted;
  }
  if (!moved) return fail("move", moved.error());
  print(options, *moved, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return 0;
}

}  // namespace

void add_move(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MoveArguments>();
  CLI::App* command =
      app.add_subcommand("move", "Move a stopped store into another one, of any kind: a file, PostgreSQL, Redis");
  command
      ->add_option("--from", options->from,
                   "The store to move: a SQLite file, postgres://..., redis://...; nobody runs on it")
      ->required();
  command->add_option("--to", options->to, "An empty store: a file that does not exist yet, a database, a Redis");
  command->add_flag("--undo", options->undo,
                    "Make a store usable again that was moved; its copy must not be used then");
  command->add_flag("--accept-weaker-store", options->accept_weaker,
                    "Use a server whose settings may lose what it acknowledged (fsync, appendfsync and the like)");
  command->add_flag("--json", options->json, "Machine-readable output");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->callback([options, &exit_code] { exit_code = run_move(*options); });
}

}  // namespace pawl::cli
