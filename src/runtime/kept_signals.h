// Kept signals: signals that no hook has taken yet, one mailbox after the other, the oldest first in each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "pawl/query.h"
#include "runtime/commit_all.h"
#include "store/job_store.h"
#include "store/queries.h"

namespace pawl::runtime {

Result<std::vector<KeptSignal>> list_kept(store::Queries& store, const KeptSignalFilter& filter, Instant now);

// What the id of a kept signal names.
struct KeptName {
  RunId mailbox{0};
  core::Guid signal;
};
Result<KeptName> parse_kept_id(const std::string& id);

// The message that asks for it.
store::Operation drop_of(const store::PoolInfo& pool, const core::MailboxKey& from, const core::Guid& signal);
// Asks for it to be dropped. not_found: it is not kept any more.
Status drop_kept(store::Queries& store, const store::PoolInfo& pool, const CommitAll& commit, const std::string& id);
// All that a filter means, whatever its page: how many were asked for.
Result<std::uint64_t> drop_all_kept(store::Queries& store, const store::PoolInfo& pool, const CommitAll& commit,
                                    const KeptSignalFilter& filter, Instant now);

// The mailbox, if the signal still waits there.
Result<std::optional<core::MailboxKey>> find_kept(store::Queries& store, const KeptName& name);

}  // namespace pawl::runtime
