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
void add_control(CLI::App& app, int& exit_code);  // pause, resume, interrupt, cancel, redrive, remove
void add_demo(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);  // doctor, verify, backup
void add_eval(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_graph(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_jobs(CLI::App& app, int& exit_code);
void add_move(CLI::App& app, int& exit_code);
void add_retention(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);  // serve, dev
void add_settle(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);  // show, watch, history
void add_signal(CLI::App& app, int& exit_code);
void add_signals(CLI::App& app, int& exit_code);
void add_start(CLI::App& app, int& exit_code);  // start, rerun
void add_status(CLI::App& app, int& exit_code);
void add_stats(CLI::App& app, int& exit_code);
void add_tasks(CLI::App& app, int& exit_code);  // tasks, claim, release, resolve
void add_topics(CLI::App& app, int& exit_code);
void add_worker(CLI::App& app, int& exit_code);

inline constexpr AddCommand commands[] = {
    add_run,     add_serve,         add_worker,  add_start,  add_status,    add_jobs,       add_show,
    add_control, add_signal,        add_signals, add_tasks,  add_settle,    add_complete,   add_apps,
    add_topics,  add_announcements, add_stats,   add_export, add_retention, add_init,       add_move,
    add_check,   add_graph,         add_doctor,  add_eval,   add_demo,      add_completion, add_about};

}  // namespace pawl::cli
