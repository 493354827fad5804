-- Bundles of mailboxes, and the writes of job bundles that steps.lua does not handle.
-- Each kind of write: the names of its arguments.
local arguments = {
  put_work = {"place", "order", "unlocks", "wake", "topic", "rest", "input", "progress"},
  drop_work = {"place"},
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

-- Writes that mean a work item where all others are: one in the hand of the owner is laid down before.
local moves_work = {put_work = true, drop_work = true, change_work = true}

local function take_writes(count)
  local writes, moves = {}, false
  for i = 1, count do
    local write = {what = take()}
    for _, name in ipairs(arguments[write.what]) do
      if name == "said" then write.said = take_list(words_of_announcement) else write[name] = take() end
    end
    writes[i] = write
    moves = moves or moves_work[write.what]
  end
  return writes, moves
end

local function check_changes(list)
  for _, write in ipairs(list) do
    if write.what == "change_work" then
      local item = work.find_place(write.place)
      if not item or item.token ~= write.token then return stale(write.place) end
    end
  end
end

local function check_redeliveries(of, list)
  for _, write in ipairs(list) do
    if write.what == "count_redelivery" then
      local count = inbox.redeliveries(of, write.guid)
      if count and count ~= write.before then
        return rejected("message " .. write.guid .. " has " .. count .. " redeliveries, expected " .. write.before)
      end
    end
  end
end

-- The job that these labels and announcements belong to; read once.
local function job_of(of)
  if not of.job then
    local row = call("HMGET", of.hash, "ns", "id", "graph")
    of.job = {ns = row[1], id = row[2], graph = row[3]}
  end
  return of.job
end

local writes = {
  put_work = function(of, write) work.put(write.place, write, write.rest, write.input, write.progress) end,
  drop_work = function(of, write) work.drop(write.place) end,
  change_work = function(of, write)
    local item = work.find(write.place)
    if not item then return end
    work.apply_change(item, write)
    work.change(write.place, item)
  end,
  hold_work = function(of, write)
    for _, place in ipairs(work.places_of(of)) do
      local item = work.find(place)
      item.held = write.held
      work.change(place, item)
    end
  end,
  sweep = function(of, write)
    for _, place in ipairs(work.places_of(of)) do work.drop(place) end
    inbox.drop_all_but(of, write.keep)
  end,
  put_message = function(of, write) inbox.put(of, write.guid, write.kind, write.body, write.at) end,
  count_redelivery = function(of, write) inbox.count(of, write.guid) end,
  consume = function(of, write) inbox.drop(of, write.guid) end,
  send = function(of, write)
    outbox.put(KEYS[tonumber(write.stream)], write.target, write.guid, write.kind, write.envelope)
  end,
  put_label = function(of, write) labels.put(of, job_of(of), write.label) end,
  drop_label = function(of, write) labels.drop(of, job_of(of), write.label) end,
  add_measure = function(of, write) labels.measure(job_of(of), write.measure, write.number) end,
  announce = function(of, write) labels.announce(of, job_of(of), write.said) end,
  put_entry = mailboxes.writes.put_entry,
  drop_entry = mailboxes.writes.drop_entry,
  offer_entry = mailboxes.writes.offer_entry,
}

local function apply_writes(of, list)
  for _, write in ipairs(list) do writes[write.what](of, write) end
end

function operations.mailbox()
  local run, epoch, rev_before, rev, id, wrong, gone, next_entry = take(), take(), take(), take(), take(), take(), take(), take()
  local list = take_writes(tonumber(take()))
  if not owns(epoch) then return fenced() end
  local of = keys_of(run)
  local row = call("HMGET", of.hash, "rev", "status", "next")
  -- A mailbox is removed when nothing is left in it: if another bundle emptied it, that is a race.
  if not row[1] then return conflict(gone) end
  if row[1] ~= rev_before then return check_rev(of.hash, row[1], rev_before, rev, id) end
  if row[2] then return rejected("a mailbox bundle for a job") end
  if wrong ~= "" then return rejected(wrong) end
  local refusal = mailboxes.check(of, row[3], next_entry, list) or check_redeliveries(of, list)
  if refusal then return refusal end
  call("HSET", of.hash, "rev", rev, "bundle", id, "next", next_entry)
  apply_writes(of, list)
  inbox.note(of, "mailbox")
  mailboxes.drop_if_empty(of)
  return committed()
end

rest = {
  work = work, jobs = jobs, inbox = inbox,
  take_writes = take_writes, check_changes = check_changes, check_redeliveries = check_redeliveries, apply_writes = apply_writes,
}
