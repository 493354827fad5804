#include "duplex/sequences.h"

#include <algorithm>

#include "base/failure_words.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace pawl::duplex {

namespace {

using ledger::DuplexState;
using store::OutcomeKind;

constexpr Duration unread_delay = limits::duplex_unread_delay;

// Usually what it waits for is under way; if not, its consumer died and a lease has to end.
Duration early_delay(const Hand& hand) {
  const Duration delay = limits::duplex_early_delay_min;
  return std::min<Duration>(delay * (1 << std::min(hand.given_back, 10u)), limits::duplex_early_delay_max);
}

// The job cannot be read: try later, if the cause may pass. Damaged data stays damaged until a person repairs it: its
// job stops with the reason.
Operation unread(const Hand& hand, const std::string& damaged) {
  if (damaged.empty()) return give_back(hand, unread_delay);
  return park(hand.run, kept_text("corrupt: " + damaged, limits::reason_bytes_max));
}

bool is_final(const stream::Reply& message) { return message.status != core::ReplyStatus::pending; }

std::string describe(const Graph& graph, const stream::Reply& message) {
  return kept_text(format("activity {} failed with code {}: {}", graph.nodes()[message.place.node].name.raw(),
                          message.code, failure_words(message.data.view())),
                   limits::reason_bytes_max);
}

std::string too_often(const Graph& graph, const Place& place, std::uint32_t times) {
  return format("activity {} at {} was entered {} times and never left", graph.nodes()[place.node].name.raw(),
                place.at.text(), times);
}

// The output of the activity that the graph names; otherwise that of a last activity, which nothing followed. If there
// are several, the one that closed last. It depends only on what is stored, so every clean-up finds the same.
Payload result_of(const Graph& graph, const store::DuplexJob& job) {
  const auto wanted = [&](const store::DuplexCell& cell) {
    if (!cell.closer) return false;
    if (graph.result_of()) return cell.place.node == *graph.result_of();
    const auto state = DuplexState::decode(cell.value);
    const auto status =
        cell.status == core::ActivityStatus::errored ? core::ReplyStatus::error : core::ReplyStatus::success;
    return state && state->exits() > 0 &&
           core::children_of(graph, cell.place.node, cell.place.at, state->exits() - 1, status, cell.code).empty();
  };
  const store::DuplexCell* last = nullptr;
  for (const store::DuplexCell& cell : job.cells)
    if (wanted(cell) && (last == nullptr || cell.closed_at >= last->closed_at)) last = &cell;
  return last == nullptr ? Payload() : last->output;
}

}  // namespace

Sequences::Looked Sequences::scene_of(const Viewed& view) {
  if (!view && view.error().code == ErrorCode::corrupt) return {std::nullopt, view.error().detail};
  if (!view) {
    events_.problem(to_string(view.error()));
    return {};
  }
  if (!*view) return {};
  const core::GraphRef& ref = (*view)->job.graph;
  auto graph = find_graph_(ref);
  const auto said = std::find(not_deployed_.begin(), not_deployed_.end(), ref);
  if (graph == nullptr) {
    if (said != not_deployed_.end()) return {};
    not_deployed_.push_back(ref);
    events_.problem(
        format("graph {} version {} is not deployed here with the content that job {} started on: this job and all "
               "others of it wait until it is",
               ref.name.raw(), ref.version, (*view)->job.id.raw()));
    return {};
  }
  if (said != not_deployed_.end()) not_deployed_.erase(said);
  return {Scene{(*view)->job, (*view)->cell, std::move(graph)}, ""};
}

// Only what is new: a repeated mark was reported when it was made.
void Sequences::tell(const Scene& scene, const Outcome& outcome, Change change) {
  if (outcome.kind != OutcomeKind::committed) return;
  change.value = outcome.value();
  events_.changed(scene.job, *scene.graph, change);
}

Sequence Sequences::start(Hand hand, stream::Start message) {
  const Viewed seen = co_await View(hand.run);
  const auto [scene, damaged] = scene_of(seen);
  if (!scene) {
    co_await Ask(unread(hand, damaged));
    co_return;
  }
  const Place place = trigger_place(*scene->graph);
  const LastWord said{core::ReplyStatus::success, 200, message.input};
  Operation set = store::SetCell{hand.run, place, DuplexState::trigger().encode(), scene->job.created_at};
  const Outcome trigger = co_await Ask(std::move(set));  // B
  tell(*scene, trigger, Change{Change::Kind::job_started, place});
  co_await Ask(name_closer(hand, place, said, scene->job.created_at));
  const auto children = core::children_of(*scene->graph, place.node, place.at, 0, said.status, said.code);
  const auto spawned = spawn(hand, message.input, children, store_.now());
  for (const Operation& operation : spawned) {  // E, then C
    const Outcome outcome = co_await Ask(operation);
    if (const auto* preset = std::get_if<store::SetCell>(&operation))
      tell(*scene, outcome, Change{Change::Kind::activity_opened, preset->place});
  }
  if (children.empty()) {
    const StreamMessage tasks = cleanup_of(hand.run, std::nullopt);
    co_await Ask(enqueue(tasks));
  }
  co_await Ask(acknowledge(hand));
}

Sequence Sequences::leg1(Hand hand, stream::Transition message) {
  const Viewed seen = co_await View(hand.run, message.place);
  const auto [scene, damaged] = scene_of(seen);
  if (!scene) {
    co_await Ask(unread(hand, damaged));
    co_return;
  }
  const StreamMessage request = request_of(hand, message, *scene->graph, scene->job.secret);
  const Outcome entered = co_await Ask(add(hand, message.place, Step::leg1_entry));  // c
  const auto state = DuplexState::decode(entered.value());
  if (!state) {
    co_await Ask(park(hand.run, state.error().detail));
    co_return;
  }
  switch (state->leg1_verdict()) {
    case DuplexState::Leg1Verdict::park:
      co_await Ask(park(hand.run, too_often(*scene->graph, message.place, state->leg1_entries())));
      co_return;
    case DuplexState::Leg1Verdict::ack:
      break;
    case DuplexState::Leg1Verdict::verify_children_and_ack:  // 789
      co_await Ask(enqueue(request));
      break;
    case DuplexState::Leg1Verdict::rerun_after_cleanup:  // 799
      co_await Ask(renew(request));
      co_await Ask(add(hand, message.place, Step::leg1_exit));
      break;
    case DuplexState::Leg1Verdict::proceed:
      co_await Ask(enqueue(request));                           // d
      co_await Ask(add(hand, message.place, Step::leg1_exit));  // e
      break;
  }
  co_await Ask(acknowledge(hand));  // f
}

Sequence Sequences::worker(HeldRequest request) {
  const Hand hand = request.hand;
  const Viewed seen = co_await View(hand.run, request.body.place);
  const auto [scene, damaged] = scene_of(seen);
  if (!scene || !scene->cell) {
    co_await Ask(unread(hand, damaged));
    co_return;
  }
  const auto state = DuplexState::decode(scene->cell->value);  // h
  if (!state) {
    co_await Ask(park(hand.run, state.error().detail));
    co_return;
  }
  const bool active = scene->job.status == core::JobStatus::running;
  const auto verdict = active ? state->worker_verdict() : DuplexState::WorkerVerdict::cancel;
  if (verdict == DuplexState::WorkerVerdict::run) {
    events_.dispatch(request, scene->job);  // X
    co_return;
  }
  const bool cancelled = verdict == DuplexState::WorkerVerdict::cancel;
  Operation last = cancelled ? acknowledge(hand) : give_back(hand, early_delay(hand));
  co_await Ask(std::move(last));
}

Sequence Sequences::answer(Hand request, StreamMessage reply) {
  const bool final = is_final(std::get<stream::Reply>(reply.body));
  co_await Ask(enqueue(reply));                   // j
  if (final) co_await Ask(acknowledge(request));  // k
}

Sequence Sequences::release(Hand request, Duration after) { co_await Ask(give_back(request, after)); }

Sequence Sequences::defer(Hand request) {
  co_await Ask(acknowledge(request));  // k
}

Sequence Sequences::leg2(Hand hand, stream::Reply message) {
  const Viewed seen = co_await View(hand.run, message.place);
  const auto [scene, damaged] = scene_of(seen);
  if (!scene) {
    co_await Ask(unread(hand, damaged));
    co_return;
  }
  const Outcome entered = co_await Ask(add(hand, message.place, Step::leg2_entry));  // m
  const auto state = DuplexState::decode(entered.value());
  if (!state) {
    co_await Ask(park(hand.run, state.error().detail));
    co_return;
  }
  const auto children = core::children_of(*scene->graph, message.place.node, message.place.at, message.number,
                                          message.status, message.code);
  const bool uncaught = children.empty() && message.status == core::ReplyStatus::error;
  using Verdict = DuplexState::Leg2Verdict;
  Verdict verdict =
      state->leg2_verdict(uncaught ? DuplexState::Arrival::uncaught_error : DuplexState::Arrival::response);
  if (verdict == Verdict::proceed && is_final(message) && state->exits() < message.number) verdict = Verdict::too_early;

  if (verdict == Verdict::park) {
    co_await Ask(park(hand.run, too_often(*scene->graph, message.place, state->entries())));
    co_return;
  }
  bool closer = false;
  if (is_final(message) && verdict != Verdict::too_early) {
    const LastWord said{message.status, message.code, message.data};
    const Outcome named = co_await Ask(name_closer(hand, message.place, said, store_.now()));
    closer = named.kind != OutcomeKind::exists;
    if (verdict == Verdict::proceed && !closer) verdict = Verdict::too_late;
  }
  if (verdict != Verdict::proceed) co_await Ask(add(hand, message.place, Step::undo_leg2_entry));
  if (verdict == Verdict::too_early) {
    co_await Ask(give_back(hand, early_delay(hand)));
    co_return;
  }

  if (closer && uncaught) {
    if (verdict == Verdict::proceed) {
      const Outcome failed = co_await Ask(add(hand, message.place, Step::fail));  // p
      tell(*scene, failed, Change{Change::Kind::activity_closed, message.place, 0, message.code});
    }
    const StreamMessage tasks =
        cleanup_of(hand.run, stream::Cleanup::Failure{message.code, describe(*scene->graph, message)});
    co_await Ask(enqueue(tasks));  // r
  } else if (closer || (verdict == Verdict::proceed && !is_final(message))) {
    if (verdict == Verdict::proceed) {
      const auto spawned = spawn(hand, message.data, children, store_.now());
      for (const Operation& operation : spawned) {  // q, then n
        const Outcome outcome = co_await Ask(operation);
        if (const auto* preset = std::get_if<store::SetCell>(&operation))
          tell(*scene, outcome, Change{Change::Kind::activity_opened, preset->place});
      }
      const Step step = is_final(message) ? Step::conclude : Step::leg2_exit;
      const Outcome left = co_await Ask(add(hand, message.place, step));  // o, p
      const auto kind = is_final(message) ? Change::Kind::activity_closed : Change::Kind::activity_pending;
      tell(*scene, left, Change{kind, message.place, 0, message.code});
    }
    if (is_final(message)) {
      const Outcome gone = co_await Ask(close_address(hand.run, message.place));
      const StreamMessage tasks = cleanup_of(hand.run, std::nullopt);
      if (gone.none_left()) co_await Ask(enqueue(tasks));  // r
    }
  }
  co_await Ask(acknowledge(hand));  // s
}

Sequence Sequences::cleanup(Hand hand, stream::Cleanup message) {
  const Viewed seen = co_await View(hand.run);
  const auto [scene, damaged] = scene_of(seen);
  if (!scene) {
    co_await Ask(unread(hand, damaged));
    co_return;
  }
  store::EndDuplex end{hand.run, message.failure ? core::JobStatus::failed : core::JobStatus::completed};
  if (message.failure) {
    end.reason = kept_text(message.failure->reason.view(), limits::reason_bytes_max);
    end.code = message.failure->code;
  } else {
    const WholeJob job = co_await Read(hand.run);
    if (!job || !*job) {
      // Not a conditional expression within co_await: GCC 12 would destroy its text with the sequence, although it was
      // never constructed.
      const Error why = job ? Error{ErrorCode::not_found, format("job {} is gone", hand.run.raw())} : job.error();
      std::string damage;
      if (why.code == ErrorCode::corrupt)
        damage = why.detail;
      else
        events_.problem(to_string(why));
      co_await Ask(unread(hand, damage));
      co_return;
    }
    end.result = result_of(*scene->graph, **job);
  }
  end.at = store_.now();
  end.keep = hand.guid;
  Operation operation = std::move(end);
  co_await Ask(std::move(operation));
  co_await Ask(acknowledge(hand));
}

Sequence Sequences::stop_job(RunId run, std::string reason) {
  co_await Ask(park(run, kept_text(reason, limits::reason_bytes_max)));
}

}  // namespace pawl::duplex
