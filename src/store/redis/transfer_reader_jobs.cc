// Jobs, work and mailboxes of one lane.
#include <algorithm>

#include "base/format.h"
#include "store/redis/transfer_reader.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t jobs_per_page = 64;
constexpr std::size_t items_per_page = 64;  // with their payloads
constexpr std::string_view mailboxes_per_scan = "1000";

}  // namespace

Status TransferReader::read_jobs(core::LaneId lane) {
  std::vector<RunId> page;
  auto done =
      each_member(lane, keys_.of_lane(lane, "jobs"), "-", "+", [&](const std::vector<std::string>& members) -> Status {
        for (const std::string& member : members) {
          const auto run =
              number_in<std::uint64_t>(std::string_view(member).substr(std::min<std::size_t>(1, member.size())));
          if (!run) return malformed(format("the list of the jobs of lane {}", lane.raw()));
          page.emplace_back(*run);
          if (page.size() < jobs_per_page) continue;
          if (auto read = read_page_of_jobs(lane, page); !read) return read;
          page.clear();
        }
        return {};
      });
  return done ? read_page_of_jobs(lane, page) : done;
}

Status TransferReader::read_page_of_jobs(core::LaneId lane, const std::vector<RunId>& runs) {
  if (runs.empty()) return {};
  Commands commands;
  for (const RunId run : runs) commands.add({"HMGET", keys_.of_run(run, "run"), "ns", "id", "duplex"});
  const auto heads = site_.ask(lane, commands);
  if (!heads) return heads.error();
  std::vector<transfer::JobToRead> jobs;
  commands.clear();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Reply& head = (*heads)[i];
    jobs.push_back({runs[i], !head[2].is_nil()});
    commands.add(
        {"HGET", keys_.of_lane(lane, "ids"), name_of(core::JobKey{Namespace(head[0].text), JobId(head[1].text)})});
  }
  const auto holders = site_.ask(lane, commands);
  if (!holders) return holders.error();
  if (auto read = transfer::read_jobs(site_.store(), jobs, see_); !read) return read;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Reply& head = (*heads)[i];
    if ((*holders)[i].text == format("{}", runs[i].raw()))
      if (auto seen = see_(transfer::StartKey{Namespace(head[0].text), JobId(head[1].text), runs[i], Instant()}); !seen)
        return seen;
    if (jobs[i].duplex)
      if (auto read = read_duplex_job(runs[i]); !read) return read;
  }
  return {};
}

// Start keys whose job is gone: "<run><name>".
Status TransferReader::read_expiring(core::LaneId lane) {
  const std::string key = keys_.of_lane(lane, "expiring");
  for (std::size_t first = 0;; first += jobs_per_page) {
    const auto page =
        site_.ask_one(lane, {"ZRANGE", key, format("{}", first), format("{}", first + jobs_per_page - 1)});
    if (!page) return page.error();
    for (const Reply& member : page->list) {
      if (member.text.size() < run_digits) return malformed("a start key");
      const std::string name = member.text.substr(run_digits);
      const auto holder = site_.ask_one(lane, {"HGET", keys_.of_lane(lane, "ids"), name});
      if (!holder) return holder.error();
      WordReader words(holder->text);
      const RunId run(words.number<std::uint64_t>());
      const Instant expires_at = words.instant();
      const auto parts = parts_of(name);
      if (words.malformed() || !parts || parts->size() != 2) return malformed("a start key");
      if (auto seen = see_(transfer::StartKey{Namespace((*parts)[0]), JobId((*parts)[1]), run, expires_at}); !seen)
        return seen;
    }
    if (page->list.size() < jobs_per_page) return {};
  }
}

// In the order of the queue. Only the number and the place of waiting items are in memory at once.
Status TransferReader::read_work(core::LaneId lane) {
  const std::string items = keys_.of_lane(lane, "items");
  const auto run_in = [](std::string_view place) {
    return RunId(number_in<std::uint64_t>(place.substr(0, run_digits)).value_or(0));
  };
  enum class Payloads : bool { no, yes };
  const auto ask_for = [&](Commands& commands, const std::string& place, Payloads payloads) {
    const bool in_hand = is_in_hand(place);
    std::vector<std::string> words = {"HMGET", in_hand ? keys_.of_run(run_in(place), "run") : items};
    words.push_back(in_hand ? std::string(hand_field) : place);
    if (payloads == Payloads::yes) {
      words.push_back(in_hand ? std::string(hand_input_field) : place + ":input");
      if (!in_hand) words.push_back(place + ":progress");
    }
    commands.add(words);
  };
  std::vector<std::pair<std::uint64_t, std::string>> line;
  auto done =
      each_member(lane, keys_.of_lane(lane, "places"), "-", "+", [&](const std::vector<std::string>& places) -> Status {
        Commands commands;
        for (const std::string& place : places) ask_for(commands, place, Payloads::no);
        const auto rows = site_.ask(lane, commands);
        if (!rows) return rows.error();
        for (std::size_t i = 0; i < places.size(); ++i) {
          const std::string_view item = (*rows)[i][0].text;
          const auto number = number_in<std::uint64_t>(item.substr(0, item.find(' ')));
          if (!number) return malformed(format("work item {}", places[i]));
          line.emplace_back(*number, places[i]);
        }
        return {};
      });
  if (!done) return done;
  std::sort(line.begin(), line.end());
  for (std::size_t next = 0; next < line.size();) {
    const std::size_t count = std::min(items_per_page, line.size() - next);
    Commands commands;
    for (std::size_t i = next; i < next + count; ++i) ask_for(commands, line[i].second, Payloads::yes);
    const auto rows = site_.ask(lane, commands);
    if (!rows) return rows.error();
    for (const Reply& row : *rows) {
      const std::string& place = line[next].second;
      auto item = is_in_hand(place) ? read_item_in_hand(run_in(place), row[0].text, row[1].text)
                                    : read_item(place, row[0].text, row[1].text, row[2].text);
      if (!item) return item.error();
      transfer::Work work{std::move(*item), next + 1, line[next].first};
      ++next;
      if (auto seen = see_(std::move(work)); !seen) return seen;
    }
  }
  return {};
}

// "k" and the names of the label, then the run.
Status TransferReader::read_labels(core::LaneId lane) {
  return each_member(
      lane, keys_.of_lane(lane, "labels"), "[k", "(l", [&](const std::vector<std::string>& members) -> Status {
        for (const std::string& member : members) {
          if (member.size() < 1 + run_digits) return malformed("a label");
          const auto parts = parts_of(std::string_view(member).substr(1, member.size() - 1 - run_digits));
          const auto run = number_in<std::uint64_t>(std::string_view(member).substr(member.size() - run_digits));
          if (!parts || parts->size() != 5 || !run) return malformed("a label");
          transfer::JobLabel label{
              RunId(*run), Namespace((*parts)[0]), GraphName((*parts)[1]), {(*parts)[4], (*parts)[2], (*parts)[3]}};
          if (auto seen = see_(std::move(label)); !seen) return seen;
        }
        return {};
      });
}

Status TransferReader::read_mailboxes(core::LaneId lane) {
  std::vector<std::uint64_t> runs;  // a scan may name one twice
  std::string cursor = "0";
  do {
    const auto page =
        site_.ask_one(lane, {"HSCAN", keys_.of_lane(lane, "mailboxes"), cursor, "COUNT", mailboxes_per_scan});
    if (!page) return page.error();
    cursor = (*page)[0].text;
    for (std::size_t i = 1; i < (*page)[1].list.size(); i += 2) {
      const auto run = number_in<std::uint64_t>((*page)[1][i].text);
      if (!run) return malformed("the name of a mailbox");
      runs.push_back(*run);
    }
  } while (cursor != "0");
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  for (const std::uint64_t run : runs) {
    const auto row = site_.ask_one(lane, {"HMGET", keys_.of_run(RunId(run), "run"), "signals", "bytes"});
    if (!row) return row.error();
    const transfer::MailboxToRead mailbox{RunId(run), number_in<std::uint64_t>((*row)[0].text).value_or(0),
                                          number_in<std::uint64_t>((*row)[1].text).value_or(0)};
    if (auto read = transfer::read_mailbox(site_.store(), mailbox, see_); !read) return read;
  }
  return {};
}

}  // namespace pawl::store::redis
