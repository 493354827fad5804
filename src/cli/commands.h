// Every command of the binary: a function that adds its subcommand and, when chosen, runs it and sets the exit code (0
// success, 1 the work failed, 2 the input was wrong, 130 Ctrl-C).
#pragma once

namespace CLI {
class App;
}

namespace pawl::cli {

using AddCommand = void (*)(CLI::App& app, int& exit_code);

void add_about(CLI::App& app, int& exit_code);
void add_announcements(CLI::App& app, int& exit_code);
void add_apps(CLI::App& app, int& exit_code);  // deploy, activate, apps
void add_check(CLI::App& app, int& exit_code);
void add_complete(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_control(CLI::App& app, int& exit_code);  // pause, resume, interrupt, redrive, remove
void add_demo(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_graph(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_jobs(CLI::App& app, int& exit_code);
void add_move(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_settle(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_signal(CLI::App& app, int& exit_code);
void add_stats(CLI::App& app, int& exit_code);
void add_topics(CLI::App& app, int& exit_code);

inline constexpr AddCommand commands[] = {add_run,    add_apps,     add_signal,        add_jobs,       add_show,
                                          add_export, add_init,     add_announcements, add_stats,      add_control,
                                          add_settle, add_complete, add_topics,        add_move,       add_check,
                                          add_graph,  add_eval,     add_demo,          add_completion, add_about};

}  // namespace pawl::cli
