#include "duplex/sequences.h"

#include <algorithm>

#include "base/format.h"
#include "base/limits.h"
#include "base/seeded_bug.h"
#include "base/utf8.h"

namespace pawl::duplex {

namespace {

using ledger::DuplexState;
using store::Outcome;
using store::OutcomeKind;

constexpr Duration unread_delay = limits::duplex_unread_delay;

// What it waits for is under way, most often; if not, its consumer died and a lease has to end.
Duration early_delay(const ClaimedMessage& claimed) {
  const Duration delay = limits::duplex_early_delay_min;
  return std::min<Duration>(delay * (1 << std::min(claimed.given_back, 10u)), limits::duplex_early_delay_max);
}

bool is_final(const StreamMessage& message) { return message.status != core::ReplyStatus::pending; }

std::string describe(const Graph& graph, const StreamMessage& message) {
  return kept_text(format("activity {} failed with code {}: {}", graph.nodes()[message.place.node].name.raw(),
                          message.code, message.data.view()),
                   limits::reason_bytes_max);
}

std::string too_often(const Graph& graph, const StreamMessage& message, std::uint32_t times) {
  return format("activity {} at {} was entered {} times and never left", graph.nodes()[message.place.node].name.raw(),
                message.place.at.text(), times);
}

}  // namespace

std::optional<Sequences::Scene> Sequences::look(const StreamMessage& message) {
  const auto view = store_.view_duplex(message.run, message.place);
  if (!view) {
    events_.problem(to_string(view.error()));
    return std::nullopt;
  }
  if (!*view) return std::nullopt;
  auto graph = find_graph_((*view)->job.graph);
  if (graph == nullptr) {
    events_.problem(format("job {}: graph {} version {} is not deployed here", (*view)->job.id.raw(),
                           (*view)->job.graph.name.raw(), (*view)->job.graph.version));
    return std::nullopt;
  }
  return Scene{(*view)->job, (*view)->cell, std::move(graph)};
}

// Only what is new: a repeated mark was told when it was made.
void Sequences::tell(const Scene& scene, const Outcome& outcome, Change change) {
  if (outcome.kind != OutcomeKind::committed) return;
  if (change.value == 0) change.value = outcome.value;
  events_.changed(scene.job, *scene.graph, change);
}

Sequence Sequences::start(ClaimedMessage claimed) {
  const auto scene = look(claimed.message);
  if (!scene) {
    co_await Ask(give_back(claimed, unread_delay));
    co_return;
  }
  const Place place = trigger_place(*scene->graph);
  claimed.message.place = place;
  claimed.message.code = 200;
  Operation set = store::SetCell{claimed.message.run, place, DuplexState::trigger().encode(), scene->job.created_at};
  const Outcome trigger = co_await Ask(std::move(set));  // B
  tell(*scene, trigger, Change{Change::Kind::job_started, place});
  co_await Ask(name_closer(claimed, place, scene->job.created_at));
  const auto children =
      core::children_of(*scene->graph, place.node, place.at, 0, core::ReplyStatus::success, claimed.message.code);
  const auto spawned = spawn(claimed, children, store_.now());
  for (const Operation& operation : spawned) {  // E, then C
    const Outcome outcome = co_await Ask(operation);
    if (const auto* preset = std::get_if<store::SetCell>(&operation))
      tell(*scene, outcome, Change{Change::Kind::activity_opened, preset->place});
  }
  if (children.empty()) {
    const StreamMessage tasks = cleanup_of(claimed.message, core::ReplyStatus::success, {});
    co_await Ask(enqueue(tasks));
  }
  co_await Ask(acknowledge(claimed));
}

Sequence Sequences::leg1(ClaimedMessage claimed) {
  const auto scene = look(claimed.message);
  if (!scene) {
    co_await Ask(give_back(claimed, unread_delay));
    co_return;
  }
  const StreamMessage request = request_of(claimed.message, *scene->graph, scene->job.secret);
  const Outcome entered = co_await Ask(add(claimed, Step::leg1_entry));  // c
  const auto state = DuplexState::decode(entered.value);
  if (!state) {
    co_await Ask(park(claimed.message.run, state.error().detail));
    co_return;
  }
  switch (state->leg1_verdict()) {
    case DuplexState::Leg1Verdict::park:
      co_await Ask(park(claimed.message.run, too_often(*scene->graph, claimed.message, state->leg1_entries())));
      co_return;
    case DuplexState::Leg1Verdict::ack:
      break;
    case DuplexState::Leg1Verdict::verify_children_and_ack:  // 789
      co_await Ask(enqueue(request));
      break;
    case DuplexState::Leg1Verdict::rerun_after_cleanup:  // 799
      co_await Ask(renew(request));
      co_await Ask(add(claimed, Step::leg1_exit));
      break;
    case DuplexState::Leg1Verdict::proceed:
      co_await Ask(enqueue(request));               // d
      co_await Ask(add(claimed, Step::leg1_exit));  // e
      break;
  }
  co_await Ask(acknowledge(claimed));  // f
}

Sequence Sequences::worker(ClaimedMessage claimed) {
  const auto scene = look(claimed.message);
  if (!scene || !scene->cell) {
    co_await Ask(give_back(claimed, unread_delay));
    co_return;
  }
  const auto state = DuplexState::decode(scene->cell->value);  // h
  if (!state) {
    co_await Ask(park(claimed.message.run, state.error().detail));
    co_return;
  }
  const bool active = scene->job.status == core::JobStatus::running;
  const auto verdict = active ? state->worker_verdict() : DuplexState::WorkerVerdict::cancel;
  if (verdict == DuplexState::WorkerVerdict::run) {
    events_.dispatch(claimed, scene->job);  // X
    co_return;
  }
  const bool cancelled = verdict == DuplexState::WorkerVerdict::cancel;
  Operation last = cancelled ? acknowledge(claimed) : give_back(claimed, early_delay(claimed));
  co_await Ask(std::move(last));
}

Sequence Sequences::answer(ClaimedMessage request, StreamMessage response) {
  const bool final = is_final(response);
  co_await Ask(enqueue(response));                // j
  if (final) co_await Ask(acknowledge(request));  // k
}

Sequence Sequences::release(ClaimedMessage request, Duration after) {
  co_await Ask(give_back(request, after));
}

Sequence Sequences::defer(ClaimedMessage request) {
  co_await Ask(acknowledge(request));  // k
}

Sequence Sequences::leg2(ClaimedMessage claimed) {
  const StreamMessage& message = claimed.message;
  const auto scene = look(message);
  if (!scene) {
    co_await Ask(give_back(claimed, unread_delay));
    co_return;
  }
  const Outcome entered = co_await Ask(add(claimed, Step::leg2_entry));  // m
  const auto state = DuplexState::decode(entered.value);
  if (!state) {
    co_await Ask(park(message.run, state.error().detail));
    co_return;
  }
  const std::uint32_t plane =
      seeded(SeededBug::duplex_plane_by_arrival) ? state->entries() - 1 : message.number;
  const auto children =
      core::children_of(*scene->graph, message.place.node, message.place.at, plane, message.status, message.code);
  const bool uncaught = children.empty() && message.status == core::ReplyStatus::error;
  using Verdict = DuplexState::Leg2Verdict;
  Verdict verdict = state->leg2_verdict(uncaught ? DuplexState::Arrival::uncaught_error : DuplexState::Arrival::response);
  if (verdict == Verdict::proceed && is_final(message) && state->exits() < message.number) verdict = Verdict::too_early;

  if (verdict == Verdict::park) {
    co_await Ask(park(message.run, too_often(*scene->graph, message, state->entries())));
    co_return;
  }
  bool closer = false;
  if (is_final(message) && verdict != Verdict::too_early) {
    const Outcome named = co_await Ask(name_closer(claimed, message.place, store_.now()));
    closer = named.kind != OutcomeKind::exists || seeded(SeededBug::duplex_every_closer_closes);
    if (verdict == Verdict::proceed && !closer) verdict = Verdict::too_late;
  }
  if (verdict != Verdict::proceed && !seeded(SeededBug::duplex_undo_forgotten))
    co_await Ask(add(claimed, Step::undo_leg2_entry));
  if (verdict == Verdict::too_early) {
    co_await Ask(give_back(claimed, early_delay(claimed)));
    co_return;
  }
  if (verdict == Verdict::too_late && seeded(SeededBug::duplex_cleanup_lost)) closer = false;

  if (closer && uncaught) {
    if (verdict == Verdict::proceed) {
      const Outcome failed = co_await Ask(add(claimed, Step::fail));  // p
      tell(*scene, failed, Change{Change::Kind::activity_closed, message.place, 0, message.code});
    }
    const StreamMessage tasks = cleanup_of(message, core::ReplyStatus::error, describe(*scene->graph, message));
    co_await Ask(enqueue(tasks));  // r
  } else if (closer || (verdict == Verdict::proceed && !is_final(message))) {
    bool last = false;
    if (seeded(SeededBug::duplex_remove_before_add) && is_final(message)) {
      const Outcome left = co_await Ask(close_address(claimed));
      last = left.empty;
    }
    if (verdict == Verdict::proceed) {
      const auto spawned = spawn(claimed, children, store_.now());
      for (const Operation& operation : spawned) {  // q, then n
        const Outcome outcome = co_await Ask(operation);
        if (const auto* preset = std::get_if<store::SetCell>(&operation))
          tell(*scene, outcome, Change{Change::Kind::activity_opened, preset->place});
      }
      const Outcome left = co_await Ask(add(claimed, is_final(message) ? Step::conclude : Step::leg2_exit));  // o, p
      const auto kind = is_final(message) ? Change::Kind::activity_closed : Change::Kind::activity_pending;
      tell(*scene, left, Change{kind, message.place, 0, message.code});
    }
    if (is_final(message)) {
      const Outcome gone = co_await Ask(close_address(claimed));
      const StreamMessage tasks = cleanup_of(message, core::ReplyStatus::success, {});
      if (gone.empty || last) co_await Ask(enqueue(tasks));  // r
    }
  }
  co_await Ask(acknowledge(claimed));  // s
}

// The output of the activity that the graph names; otherwise that of a last activity, one that nothing followed. Of
// several the one that closed last. It depends on what is stored only, so whoever cleans up finds the same.
Result<Payload> Sequences::result_of(const Graph& graph, RunId run) {
  const auto job = store_.read_duplex(run);
  if (!job) return job.error();
  if (!*job) return Error{ErrorCode::not_found, format("job {} is gone", run.raw())};
  const auto wanted = [&](const store::DuplexCell& cell) {
    if (!cell.closer) return false;
    if (graph.result_of()) return cell.place.node == *graph.result_of();
    const auto state = DuplexState::decode(cell.value);
    const auto status = cell.status == core::ActivityStatus::errored ? core::ReplyStatus::error : core::ReplyStatus::success;
    return state && state->exits() > 0 &&
           core::children_of(graph, cell.place.node, cell.place.at, state->exits() - 1, status, cell.code).empty();
  };
  const store::DuplexCell* last = nullptr;
  for (const store::DuplexCell& cell : (*job)->cells)
    if (wanted(cell) && (last == nullptr || cell.closed_at >= last->closed_at)) last = &cell;
  return last == nullptr ? Payload() : last->output;
}

Sequence Sequences::cleanup(ClaimedMessage claimed) {
  const auto scene = look(claimed.message);
  if (!scene) {
    co_await Ask(give_back(claimed, unread_delay));
    co_return;
  }
  const bool failed = claimed.message.status == core::ReplyStatus::error;
  store::EndDuplex end{claimed.message.run, failed ? core::JobStatus::failed : core::JobStatus::completed};
  if (failed) {
    end.reason = kept_text(claimed.message.data.view(), limits::reason_bytes_max);
    end.code = claimed.message.code;
  } else {
    auto result = result_of(*scene->graph, claimed.message.run);
    if (!result) {
      events_.problem(to_string(result.error()));
      co_await Ask(give_back(claimed, unread_delay));
      co_return;
    }
    end.result = std::move(*result);
  }
  end.at = store_.now();
  end.keep = claimed.message.guid;
  Operation operation = std::move(end);
  co_await Ask(std::move(operation));
  co_await Ask(acknowledge(claimed));
}

Sequence Sequences::stop_job(RunId run, std::string reason) {
  co_await Ask(park(run, kept_text(reason, limits::reason_bytes_max)));
}

}  // namespace pawl::duplex
