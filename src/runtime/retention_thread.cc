#include "runtime/retention_thread.h"

#include <pthread.h>

#include "base/limits.h"

namespace pawl::runtime {

RetentionThread::RetentionThread(Retention& retention, Hooks hooks)
    : retention_(retention), hooks_(std::move(hooks)), thread_([this] {
        pthread_setname_np(pthread_self(), "pawl-retention");
        serve();
      }) {}

RetentionThread::~RetentionThread() {
  end();
  thread_.join();
}

void RetentionThread::end() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

void RetentionThread::look() {
  {
    const std::lock_guard lock(mutex_);
    told_ = true;
  }
  changed_.notify_all();
}

bool RetentionThread::is_ended() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

bool RetentionThread::rest(Duration time, bool until_told) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return stopped_ || (until_told && told_); });
  if (until_told) told_ = false;
  return !stopped_;
}

// Without a rule it wakes only to see whether somebody made one without telling: an idle process stays idle.
void RetentionThread::serve() {
  for (bool is_first = true;; is_first = false) {
    // Whoever sets a rule may set several: they count together.
    if (!is_first && !rest(limits::retention_settles, false)) return;
    const auto rules = retention_.rules();
    const bool has_rules = !rules || !rules->empty();
    // Lanes are taken a moment after the start.
    if (is_first && has_rules && !rest(limits::retention_settles, false)) return;
    if (has_rules)
      if (const auto done = pass(); !done && !is_ended())
        hooks_.problem("the rules of retention could not be carried out: " + done.error().detail);
    if (!rest(has_rules ? Duration(limits::retention_look) : Duration(limits::retention_look_without_rules), true))
      return;
  }
}

Status RetentionThread::pass() {
  auto lanes = hooks_.owned_lanes();
  if (!lanes) return lanes.error();
  Retention::Pass pass;
  pass.lanes = std::move(*lanes);
  pass.now = hooks_.now();
  pass.depth =
      passes_++ % limits::retention_whole_pass_every == 0 ? Retention::Depth::whole : Retention::Depth::until_young;
  // Between two batches it rests, so that the jobs that run have the store for themselves.
  pass.options.progress = [this](std::uint64_t) { rest(limits::retention_rest, false); };
  pass.goes_on = [this] { return !is_ended(); };
  pass.places = &places_;
  const auto done = retention_.apply(pass);
  return done ? Status{} : Status(done.error());
}

}  // namespace pawl::runtime
