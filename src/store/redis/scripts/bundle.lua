-- Bundles: the guards in their order, then the writes.
local bundles = {}

-- setStatusAndCollateGuid of the protocol (store/snapshot.h): moves the semaphore, decides the hit from what is stored now,
-- adds the digit to the ledger of the message that made the step, and answers the hit.
local function step_semaphore_and_snapshot(of, delta, threshold, message, weight)
  call("HINCRBY", of.hash, "semaphore", delta)
  local hit = call("HGET", of.hash, "semaphore") == threshold
  if message ~= "" and hit then call("HINCRBY", of.hash, message, weight) end
  return hit
end

-- Each kind of write: the names of its arguments.
local arguments = {
  put_work = {"place", "order", "unlocks", "wake", "topic", "rest", "input", "progress", "claims"},
  drop_work = {"place", "token"},
  answered_work = {"place"},
  change_work = {"place", "token", "release", "visible", "life"},
  hold_work = {"held"},
  sweep = {"keep"},
  put_message = {"guid", "kind", "body", "at"},
  count_redelivery = {"guid", "before"},
  consume = {"guid"},
  send = {"stream", "target", "guid", "kind", "envelope"},
  put_label = {"label"},
  drop_label = {"label"},
  add_measure = {"measure", "number"},
  announce = {"said"},
  put_entry = {"seq", "value", "data"},
  drop_entry = {"seq"},
  offer_entry = {"seq", "guid", "to"},
}
local words_of_announcement = 12

local function take_writes()
  local writes = {}
  for i = 1, tonumber(take()) do
    local write = {what = take()}
    for _, name in ipairs(arguments[write.what]) do
      if name == "said" then write.said = take_list(words_of_announcement) else write[name] = take() end
    end
    writes[i] = write
  end
  return writes
end

-- Guard 2. None: the rev is the expected one.
local function check_rev(rev, last, bundle)
  if rev == bundle.rev_before then return nil end
  if rev == bundle.rev and last == bundle.id then return already_done() end
  return conflict("rev is " .. rev .. ", expected " .. bundle.rev_before)
end

-- Others may claim an item between two bundles, so a moved token is a race and not a mistake. A bundle may claim the work it
-- puts; whoever made it may not have heard yet that the topic is paused.
local function check_work(bundle)
  for _, write in ipairs(bundle.writes) do
    if write.what == "drop_work" or write.what == "change_work" then
      local item = work.find_place(write.place)
      if not item or item.token ~= write.token then
        return conflict("work item " .. text(tonumber(string.sub(write.place, 22))) .. " is no longer held by this token")
      end
    end
  end
  for _, write in ipairs(bundle.writes) do
    if write.what == "put_work" and write.claims == "1" and work.is_paused(write.topic) then
      return conflict("a topic of its work is paused")
    end
  end
end

local function check_redeliveries(of, bundle)
  for _, write in ipairs(bundle.writes) do
    if write.what == "count_redelivery" then
      local count = inbox.redeliveries(of, write.guid)
      if count and count ~= write.before then
        return rejected("message " .. write.guid .. " has " .. count .. " redeliveries, expected " .. write.before)
      end
    end
  end
end

local writes = {
  put_work = function(of, write) work.put(write.place, write, write.rest, write.input, write.progress) end,
  drop_work = function(of, write) work.drop(write.place) end,
  answered_work = function(of, write) work.drop(write.place) end,
  change_work = function(of, write)
    local item = work.find(write.place)
    if not item then return end
    work.apply_change(item, write)
    work.change(write.place, item)
  end,
  hold_work = function(of, write)
    for _, place in ipairs(work.places_of(of.run)) do
      local item = work.find(place)
      item.held = write.held
      work.change(place, item)
    end
  end,
  sweep = function(of, write)
    for _, place in ipairs(work.places_of(of.run)) do work.drop(place) end
    inbox.drop_all_but(of, write.keep)
  end,
  put_message = function(of, write) inbox.put(of, write.guid, write.kind, write.body, write.at) end,
  count_redelivery = function(of, write) inbox.count(of, write.guid) end,
  consume = function(of, write) inbox.drop(of, write.guid) end,
  send = function(of, write)
    outbox.put(KEYS[tonumber(write.stream)], write.target, write.guid, write.kind, write.envelope)
  end,
  put_label = function(of, write, job) labels.put(of, job, write.label) end,
  drop_label = function(of, write, job) labels.drop(of, job, write.label) end,
  add_measure = function(of, write, job) labels.measure(job, write.measure, write.number) end,
  announce = function(of, write, job) labels.announce(of, job, write.said) end,
  put_entry = mailboxes.writes.put_entry,
  drop_entry = mailboxes.writes.drop_entry,
  offer_entry = mailboxes.writes.offer_entry,
}

local unpacked_max = 1000  -- what one call takes from a table

-- In steps, for as many as there are.
local function in_steps(list, each)
  for first = 1, #list, unpacked_max do each(first, math.min(first + unpacked_max - 1, #list)) end
end

-- What the bundle was computed from: fields of the job's hash and what they must hold ("": nothing). The first ones came with
-- the job's row.
local words_of_row = 9
local fields_with_row = 200
local function check_fields(of, row, fields, expected)
  local wrong = nil
  local function compare(i, value)
    if (value or "") ~= expected[i] and not wrong then wrong = {i, value or ""} end
  end
  for i = 1, math.min(#fields, fields_with_row) do compare(i, row[words_of_row + i]) end
  for first = fields_with_row + 1, #fields, unpacked_max do
    local last = math.min(first + unpacked_max - 1, #fields)
    local stored = call("HMGET", of.hash, unpack(fields, first, last))
    for i = first, last do compare(i, stored[i - first + 1]) end
  end
  return wrong
end

local function take_head()
  local head = {
    status = take(), semaphore = take(), delta = take(), threshold = take(), hit = take(), other_hit = take(),
    message = take(), weight = take(), completions_before = take(), next_before = take(), remove_at = take(),
    did = take(), history_max = take(),
  }
  head.fields = take_list(tonumber(take()))
  head.expected = take_list(#head.fields)
  head.added = take_list(tonumber(take()))   -- field, what is added to it
  head.set = take_list(tonumber(take()))     -- field, value; what the head says is among them
  head.dropped = take_list(tonumber(take()))
  return head
end

local function check_job(of, row, head, bundle)
  local status, semaphore, stored_head = row[3], row[4], row[5]
  if closed[status] and status ~= head.status then
    return rejected("a " .. status .. " job would become " .. head.status)
  end
  if head.semaphore ~= "" then
    if semaphore ~= head.semaphore then
      return rejected("semaphore is " .. semaphore .. ", expected " .. head.semaphore)
    end
    if bundle.wrong_step ~= "" then return rejected(bundle.wrong_step) end
    local hit = tonumber(semaphore) + tonumber(head.delta) == tonumber(head.threshold)
    if hit ~= (head.hit == "1") then return rejected(head.other_hit) end
  end
  local completions, next_activity = string.match(stored_head, "^(%d+) (%d+)")
  if completions ~= head.completions_before then
    return rejected("completion tasks ran without this bundle's knowledge")
  end
  local wrong = check_fields(of, row, head.fields, head.expected)
  if wrong then return answer("wrong_field", "", head.fields[wrong[1]], head.expected[wrong[1]], wrong[2]) end
  if bundle.wrong ~= "" then return rejected(bundle.wrong) end
  if next_activity ~= head.next_before then
    return rejected("the next activity is " .. next_activity .. ", the bundle begins with " .. head.next_before)
  end
  return check_redeliveries(of, bundle)
end

local function write_job(of, row, head, bundle)
  local status = row[3]
  for i = 1, #head.added, 2 do call("HINCRBY", of.hash, head.added[i], head.added[i + 1]) end
  if head.semaphore ~= "" then
    step_semaphore_and_snapshot(of, head.delta, head.threshold, head.message, head.weight)
  end
  in_steps(head.set, function(first, last) call("HSET", of.hash, unpack(head.set, first, last)) end)
  in_steps(head.dropped, function(first, last) call("HDEL", of.hash, unpack(head.dropped, first, last)) end)
  if status ~= head.status then jobs.move(of.run, status, head.status) end
  if closed[head.status] then
    call("HSET", of.hash, "semaphore", "0")
    if head.remove_at == "0" then due.drop(due.removal(of.run)) else due.put(head.remove_at, due.removal(of.run)) end
  end
  call("XADD", of.history, "MAXLEN", "~", head.history_max, bundle.rev .. "-0", "bundle", bundle.id, "did", head.did)
  local job = {ns = row[6], id = row[7], graph = row[8]}
  for _, write in ipairs(bundle.writes) do writes[write.what](of, write, job) end
  inbox.note(of, "job")
end

-- A bundle of a job, or one of a mailbox: what the entity really is decides.
function operations.bundle()
  local bundle = {run = take(), epoch = take(), rev_before = take(), rev = take(), id = take(), kind = take(), wrong = take(),
                  wrong_step = take(), gone = take()}
  local head = nil
  if bundle.kind == "job" then head = take_head() else bundle.next = take() end
  bundle.writes = take_writes()
  if not owns(bundle.epoch) then return fenced() end
  local of = keys_of(bundle.run)
  local fields = head and head.fields or {}
  local row = call("HMGET", of.hash, "rev", "bundle", "status", "semaphore", "head", "ns", "id", "graph", "next",
                   unpack(fields, 1, math.min(#fields, fields_with_row)))
  if not row[1] then
    -- A mailbox goes when nothing is left in it: that somebody else emptied it is a race.
    return answer(bundle.kind == "mailbox" and "conflict" or "rejected", bundle.gone)
  end
  local wrong = check_rev(row[1], row[2], bundle)
  if wrong then return wrong end
  if row[3] then
    wrong = check_work(bundle)
    if wrong then return wrong end
    if bundle.kind ~= "job" then return rejected("a mailbox bundle for a job") end
    wrong = check_job(of, row, head, bundle)
    if wrong then return wrong end
    write_job(of, row, head, bundle)
    return committed()
  end
  if bundle.kind ~= "mailbox" then return rejected("a job's bundle for a mailbox") end
  if bundle.wrong ~= "" then return rejected(bundle.wrong) end
  wrong = mailboxes.check(of, row[9], bundle) or check_redeliveries(of, bundle)
  if wrong then return wrong end
  call("HSET", of.hash, "rev", bundle.rev, "bundle", bundle.id, "next", bundle.next)
  for _, write in ipairs(bundle.writes) do writes[write.what](of, write) end
  inbox.note(of, "mailbox")
  mailboxes.drop_if_empty(of)
  return committed()
end
