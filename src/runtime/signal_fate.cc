#include "runtime/signal_fate.h"

#include <utility>
#include <variant>

namespace pawl::runtime {

Result<SignalFate> fate_of_signal(store::Store& store, const Apps& apps, const std::string& topic, const Payload& data,
                                  const std::string& name_space) {
  const auto keys = apps.mailboxes_for(topic, data);
  if (!keys) return keys.error();
  SignalFate fate;
  for (const std::string& key : *keys) {
    const auto run = store.find_mailbox({Namespace(name_space), Topic(topic), key});
    if (!run) return run.error();
    if (!*run) continue;
    const auto mailbox = store.read_mailbox(**run);
    if (!mailbox) return mailbox.error();
    if (!*mailbox) continue;
    bool is_first = true;  // of this key: it is for one hook
    for (const core::MailboxEntry& entry : (*mailbox)->state.entries) {
      const auto* hook = std::get_if<core::Register>(&entry.what);
      if (hook == nullptr) ++fate.kept;
      if (hook == nullptr || !std::exchange(is_first, false)) continue;
      const auto job = store.read_job_row(hook->reply_to);
      if (!job) return job.error();
      if (*job) fate.reaches.push_back((*job)->id);
    }
    // What waits in its inbox is served first.
    for (const core::InboxMessage& waiting : (*mailbox)->inbox)
      if (std::holds_alternative<core::Signal>(waiting.message.body)) ++fate.kept;
  }
  return fate;
}

}  // namespace pawl::runtime
