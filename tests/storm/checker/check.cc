#include "check.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "check_ledgers.h"
#include "model.h"

namespace storm {

namespace {

struct KnownJob {
  std::string graph, input;
  std::set<std::string> runs;  // in answers to clients
  std::vector<const ClientLine*> ends;
};

class Checker {
 public:
  Checker(const History& history, std::uint64_t percent_min) : history_(history), percent_min_(percent_min) {}

  Report run() {
    read_store();
    read_clients();
    read_journals();
    check_whole_store();
    for (const auto& [id, known] : known_) check_job(id, known);
    check_strangers();
    return std::move(report_);
  }

 private:
  struct Stored {
    const JobRow* job = nullptr;
    std::vector<const ActivityRow*> activities;
    std::map<std::int64_t, std::vector<const MessageRow*>> messages;  // by activity
  };
  struct Done {  // one activity of one job, as its workers saw it
    std::set<std::string> keys;
    std::set<std::uint64_t> begun, ended;
  };
  using Place = std::tuple<std::string, std::string, std::string>;  // run, topic, input

  void violation(std::string text) { report_.violations.push_back(std::move(text)); }

  void read_store() {
    for (const JobRow& job : history_.jobs) {
      if (!runs_.emplace(job.id, job.run).second) violation("two jobs have the id " + job.id);
      if (std::exchange(stored_[job.run].job, &job) != nullptr) violation("two job rows have run " + job.run);
    }
    for (const ActivityRow& row : history_.activities) stored_[row.run].activities.push_back(&row);
    for (const MessageRow& row : history_.messages) stored_[row.run].messages[row.activity].push_back(&row);
  }

  void read_clients() {
    for (const auto& log : history_.clients)
      for (const ClientLine& line : log) read_client(line);
    const Figures& f = report_.figures;
    if (f.submits == 0 || f.answered * 100 < f.submits * percent_min_)
      violation("only " + std::to_string(f.answered) + " of " + std::to_string(f.submits) +
                " submits were answered with a run: too few to prove anything");
  }

  void read_client(const ClientLine& line) {
    using Kind = ClientLine::Kind;
    Figures& f = report_.figures;
    if (line.kind == Kind::submit) {
      ++f.submits;
      known_[line.id].graph = line.graph;
      known_[line.id].input = line.input;
      return;
    }
    const auto found = known_.find(line.id);
    if (found == known_.end()) return violation("an answer for " + line.id + ", never submitted");
    KnownJob& known = found->second;
    if (line.kind == Kind::error) {
      ++f.refused;
      return;
    }
    if (line.kind == Kind::accepted || line.kind == Kind::exists) ++f.answered;
    if (line.kind == Kind::accepted && !accepted_.insert(line.id).second)
      violation("job " + line.id + " was accepted twice");
    if (line.kind == Kind::closed) known.ends.push_back(&line);
    known.runs.insert(line.run);
  }

  void read_journals() {
    std::map<std::string, Place> place_of_key;
    for (const auto& journal : history_.journals) {
      std::set<std::pair<std::string, std::uint64_t>> begun_here;
      for (const JournalLine& line : journal) {
        const Place place{line.run, line.topic, line.input};
        const auto [known, is_new] = place_of_key.emplace(line.key, place);
        if (!is_new && known->second != place) violation("key " + line.key + " was given to two activities");
        Done& done = done_[place];
        done.keys.insert(line.key);
        if (line.is_end) {
          if (begun_here.count({line.key, line.attempt}) == 0)
            violation("attempt " + std::to_string(line.attempt) + " of " + line.key +
                      " ended in a process where it had not begun");
          done.ended.insert(line.attempt);
        } else {
          begun_here.insert({line.key, line.attempt});
          if (!done.begun.insert(line.attempt).second)
            violation("attempt " + std::to_string(line.attempt) + " of " + line.key + " was begun twice");
          ++report_.figures.attempts;
          if (line.attempt > 1) ++report_.figures.repeated;
        }
      }
    }
  }

  void check_whole_store() {
    for (const std::string& line : history_.unreadable) violation("unreadable line in " + line);
    if (history_.integrity != "ok") violation("integrity check: " + history_.integrity);
    if (history_.inbox_rows != 0) violation("the inbox is not empty at the end");
    if (history_.work_rows != 0) violation("work is left at the end");
    if (history_.mailbox_rows.value_or(0) != 0) violation("registrations or signals are left at the end");
    report_.figures.jobs = history_.jobs.size();
  }

  void check_job(const std::string& id, const KnownJob& known) {
    const auto run = runs_.find(id);
    if (run == runs_.end()) {
      if (!known.runs.empty()) violation("job " + id + " was acknowledged and is not in the store");
      return;
    }
    if (known.runs.size() > 1 || (known.runs.size() == 1 && *known.runs.begin() != run->second))
      violation("job " + id + ": clients were told another run than the stored one");
    if (const auto family = expect_family(id, known.graph)) return check_family(id, known, *family);
    const auto expected = expect(known.graph, known.input);
    if (!expected) return violation("job " + id + " has an unknown graph " + known.graph);
    const Stored& stored = stored_.at(run->second);
    check_end(id, *stored.job, *expected, known);
    check_activities(id, stored, *expected);
  }

  void check_family(const std::string& id, const KnownJob& known, const ExpectedFamily& expected) {
    for (const ClientLine* end : known.ends)
      if (end->status != "completed" || end->text != expected.parent.result)
        violation("job " + id + ": a client was told " + end->status + " " + end->text);
    check_app_job(id, expected.parent, expected.input);
    check_app_job(expected.child_id, expected.child, expected.input);
    children_.insert(expected.child_id);
  }

  // Of the graph language: its end, its ledgers by their digits, and its workers.
  void check_app_job(const std::string& id, const ExpectedAppJob& expected, const std::string& input) {
    const auto run = runs_.find(id);
    if (run == runs_.end()) return violation("job " + id + " was never started");
    const Stored& stored = stored_.at(run->second);
    const JobRow& job = *stored.job;
    if (job.graph != expected.graph) violation("job " + id + " runs the graph " + job.graph);
    if (job.status != status_completed)
      violation("job " + id + " has status " + std::to_string(job.status) + " (" + job.reason + ")");
    if (job.result != expected.result)
      violation("job " + id + " has the result '" + job.result + "', expected '" + expected.result + "'");
    if (job.semaphore != 0 || job.completions != 1)
      violation("job " + id + " has semaphore " + std::to_string(job.semaphore) + " and completions " +
                std::to_string(job.completions));
    int closers = 0;
    for (const ActivityRow* row : stored.activities) {
      const std::string what = "job " + id + ", activity " + std::to_string(row->node) + " at " + row->place;
      ExpectedActivity as_it_is;
      as_it_is.output = row->output;
      const auto messages = stored.messages.find(row->seq);
      const LedgerCheck ledgers = check_ledgers(
          as_it_is, *row, messages == stored.messages.end() ? std::vector<const MessageRow*>() : messages->second);
      for (const std::string& problem : ledgers.problems) violation(what + ": " + problem);
      closers += ledgers.closers;
    }
    if (closers != 1) violation("job " + id + " was closed by " + std::to_string(closers) + " messages");
    for (const std::string& topic : expected.topics)
      check_work("job " + id + ", " + topic, job.run, ExpectedActivity{topic, 0, "", input}, Ended::yes);
  }

  void check_end(const std::string& id, const JobRow& job, const ExpectedJob& expected, const KnownJob& known) {
    if (job.graph != known.graph) violation("job " + id + " runs the graph " + job.graph);
    if (job.status != expected.status)
      violation("job " + id + " has status " + std::to_string(job.status) + ", expected " +
                std::to_string(expected.status) + " (" + job.reason + ")");
    if (job.result != expected.result)
      violation("job " + id + " has the result '" + job.result + "', expected '" + expected.result + "'");
    if (job.reason != expected.reason) violation("job " + id + " has the reason " + job.reason);
    if (job.semaphore != 0) violation("job " + id + " has semaphore " + std::to_string(job.semaphore) + " at the end");
    if (job.completions != 1)
      violation("job " + id + " ran its completion tasks " + std::to_string(job.completions) + " times");
    const bool completed = expected.status == status_completed;
    for (const ClientLine* end : known.ends)
      if (end->status != (completed ? "completed" : "failed") ||
          end->text != (completed ? expected.result : expected.reason))
        violation("job " + id + ": a client was told " + end->status + " " + end->text);
  }

  void check_activities(const std::string& id, const Stored& stored, const ExpectedJob& expected) {
    std::vector<const ActivityRow*> rows = stored.activities;
    int closers = 0;
    for (const ExpectedActivity& activity : expected.activities) {
      const ActivityRow* found = nullptr;
      for (const ActivityRow*& row : rows)
        if (row != nullptr && row->node == activity.node && row->place == activity.place)
          found = std::exchange(row, nullptr);
      const std::string what = "job " + id + ", activity " + std::to_string(activity.node) + " at " + activity.place;
      if (found == nullptr) {
        if (!activity.may_be_cut) violation(what + " is missing");
        check_work(what, stored.job->run, activity, Ended::no);
        continue;
      }
      const auto messages = stored.messages.find(found->seq);
      const LedgerCheck ledgers = check_ledgers(
          activity, *found, messages == stored.messages.end() ? std::vector<const MessageRow*>() : messages->second);
      for (const std::string& problem : ledgers.problems) violation(what + ": " + problem);
      closers += ledgers.closers;
      check_work(what, stored.job->run, activity, ledgers.concluded ? Ended::yes : Ended::no);
    }
    for (const ActivityRow* row : rows)
      if (row != nullptr)
        violation("job " + id + " has an activity too many: " + std::to_string(row->node) + " at " + row->place);
    if (closers != 1) violation("job " + id + " was closed by " + std::to_string(closers) + " messages");
  }

  enum class Ended : bool { no, yes };

  void check_work(const std::string& what, const std::string& run, const ExpectedActivity& activity, Ended concluded) {
    if (activity.topic.empty()) return;
    const Place place{run, activity.topic, activity.input};
    const auto found = done_.find(place);
    if (found == done_.end()) {
      if (concluded == Ended::yes) violation(what + " is concluded, and no worker ran it");
      return;
    }
    const Done& done = found->second;
    expected_work_.insert(place);
    if (done.keys.size() != 1) violation(what + " was run under more than one key");
    if (concluded == Ended::yes && done.ended.empty()) violation(what + " is concluded, and no worker ended it");
    for (const std::uint64_t attempt : done.begun) {
      if (done.ended.count(attempt) != 0) continue;
      ++report_.figures.cut;
      const bool followed = *done.begun.rbegin() > attempt;
      // A job that failed meanwhile needs no further attempt.
      if (!followed && !(activity.may_be_cut && concluded == Ended::no))
        violation(what + ": attempt " + std::to_string(attempt) + " was cut and no other one followed");
    }
  }

  // Rows that no client asked for.
  void check_strangers() {
    for (const auto& [run, stored] : stored_) {
      if (stored.job == nullptr)
        violation("rows of run " + run + ", which is no job");
      else if (known_.count(stored.job->id) == 0 && children_.count(stored.job->id) == 0)
        violation("job " + stored.job->id + " was never submitted");
    }
    for (const auto& [place, done] : done_)
      if (expected_work_.count(place) == 0)
        violation("a worker ran " + std::get<1>(place) + " of run " + std::get<0>(place) + " for '" +
                  std::get<2>(place) + "', which nobody asked for");
  }

  const History& history_;
  const std::uint64_t percent_min_;
  Report report_;
  std::map<std::string, KnownJob> known_;  // by id
  std::set<std::string> accepted_;
  std::set<std::string> children_;           // ids of jobs that jobs must have started
  std::map<std::string, std::string> runs_;  // by id
  std::map<std::string, Stored> stored_;     // by run
  std::map<Place, Done> done_;
  std::set<Place> expected_work_;
};

}  // namespace

Report check(const History& history, std::uint64_t answered_percent_min) {
  return Checker(history, answered_percent_min).run();
}

}  // namespace storm
