-- Deliver: a message for a run, or for the run that has a name.
local deliver = {}

function deliver.to_run(message)
  local of = keys_of(message.run)
  local status = call("HGET", of.hash, "status")
  if not status then return committed() end
  return inbox.insert(of, status, message.guid, message.kind, message.body)
end

function deliver.to_mailbox(message)
  local of = mailboxes.find_or_make(message.name, message.row)
  return mailboxes.deliver(of, message.guid, message.kind, message.body, message.bytes, message.signals_max, message.bytes_max)
end

-- The lane keeps the ids of signals from outside in a ZSET, scored by the time when they are forgotten.
local function remembered(message)
  local forgotten_at = call("ZSCORE", key.signals, message.guid)
  if forgotten_at and tonumber(forgotten_at) > now then
    return already_done(call("HGET", key.mailboxes, message.name) or "0")
  end
  local outcome = deliver.to_mailbox(message)
  if outcome[1] ~= "committed" then return outcome end
  call("ZADD", key.signals, now + message.keep, message.guid)
  for _ = 1, message.ids_per_drop do
    local oldest = call("ZRANGE", key.signals, 0, 0, "WITHSCORES")
    if tonumber(oldest[2]) > now and call("ZCARD", key.signals) <= message.ids_max then break end
    call("ZREM", key.signals, oldest[1])
  end
  return outcome
end

function deliver.to_job(message)
  local holder = jobs.holder_of(message.name)
  if not holder then return committed("0") end
  local of = keys_of(holder.run)
  local status = call("HGET", of.hash, "status")
  local outcome = committed()
  if status then outcome = inbox.insert(of, status, message.guid, message.kind, message.body) end
  outcome[3] = holder.run
  return outcome
end

-- A child begins like any job. If its id is taken its parent gets a message, as if a job of this lane had sent it.
function deliver.start_child(message)
  local new = message.child
  for i = 1, #new.row, 2 do
    if new.row[i] == "at" then new.row[i + 1] = text(now) end
  end
  local begun = jobs.begin(new)
  if begun[1] ~= "exists" then return begun end
  local parent = call("HGET", keys_of(begun[3]).hash, "parent")
  if parent and string.match(parent, "^%S+ %S+ (%S+)") == message.request then return already_done(begun[3]) end
  ring_flag("o")
  if outbox.has(message.stream, message.refusal) then return already_done(message.parent) end
  if message.stream_exists == "1" then
    outbox.put(message.stream, message.target, message.refusal_guid, message.refusal_kind, message.refusal)
  end
  return committed(message.parent)
end

local takes = {
  run = function(message)
    message.run = take()
    return deliver.to_run
  end,
  mailbox = function(message)
    message.name, message.row, message.bytes = take(), take_list(tonumber(take())), take()
    message.signals_max, message.bytes_max = tonumber(take()), tonumber(take())
    local is_remembered = take() == "1"
    message.keep, message.ids_max, message.ids_per_drop = tonumber(take()), tonumber(take()), tonumber(take())
    return is_remembered and remembered or deliver.to_mailbox
  end,
  job = function(message)
    message.name = take()
    return deliver.to_job
  end,
  child = function(message)
    message.child = jobs.take_new()
    message.parent, message.request = take(), take()
    message.stream, message.stream_exists, message.target = KEYS[tonumber(take())], take(), take()
    message.refusal_guid, message.refusal_kind, message.refusal = take(), take(), take()
    return deliver.start_child
  end,
}

function operations.deliver()
  local source, seq, before = take(), take(), take()
  local message = {guid = take(), kind = take(), body = take()}
  local run = takes[take()](message)
  if source ~= "" then
    local last = call("HGET", key.taken, source) or "0"
    if wide(seq) <= wide(last) then return already_done() end
    if last ~= before then
      return conflict("row " .. seq .. " came before row " .. text(tonumber(last) + 1), "0", last)
    end
  end
  local outcome = run(message)
  if source == "" then return outcome end
  if outcome[1] == "over_limit" then outcome[1] = "passed_over" end  -- later messages continue
  call("HSET", key.taken, source, seq)
  return outcome
end
