-- Messages of a job or a mailbox that are not consumed: a STREAM in order of arrival. `pending` is a HASH that finds
-- them by their guid: "<stream id> <redeliveries>". A timer is a field of the entity's own hash, "t:<guid>", "<due>
-- <redeliveries> <body>", and is in the ZSET of what is due; the field `t` counts them.
local inbox = {}

local function timer_field(guid) return "t:" .. guid end

function inbox.has(of, guid)
  return call("HEXISTS", of.pending, guid) == 1 or call("HEXISTS", of.hash, timer_field(guid)) == 1
end

-- For a message that cannot be there yet. `at` "0": no timer.
function inbox.put_first(of, guid, kind, body, at)
  if at == "0" then
    of.inbox_changed, of.inbox_filled = true, true
    local id = call("XADD", of.inbox, "*", "guid", guid, "kind", kind, "body", body)
    call("HSET", of.pending, guid, id .. " 0")
  else
    call("HSET", of.hash, timer_field(guid), at .. " 0 " .. body)
    call("HINCRBY", of.hash, "t", 1)
    due.put(at, due.message(of.run, guid))
  end
end

function inbox.put(of, guid, kind, body, at)
  if not inbox.has(of, guid) then inbox.put_first(of, guid, kind, body, at) end
end

local function drop_message(of, guid, where)
  of.inbox_changed, of.inbox_filled = true, false
  if call("HLEN", of.pending) == 1 then  -- an empty stream would stay
    call("DEL", of.pending, of.inbox)
    return
  end
  call("XDEL", of.inbox, string.match(where, "^%S+"))
  call("HDEL", of.pending, guid)
end

local function drop_timer(of, guid)
  call("HDEL", of.hash, timer_field(guid))
  if call("HINCRBY", of.hash, "t", -1) == 0 then call("HDEL", of.hash, "t") end
  due.drop(due.message(of.run, guid))
end

function inbox.drop(of, guid)
  local where = call("HGET", of.pending, guid)
  if where then drop_message(of, guid, where)
  elseif call("HEXISTS", of.hash, timer_field(guid)) == 1 then drop_timer(of, guid) end
end

function inbox.drop_all_but(of, keep)
  local rows = call("HGETALL", of.pending)
  for i = 1, #rows, 2 do
    if rows[i] ~= keep then drop_message(of, rows[i], rows[i + 1]) end
  end
  if call("HEXISTS", of.hash, "t") == 0 then return end
  for _, field in ipairs(call("HKEYS", of.hash)) do
    if string.sub(field, 1, 2) == "t:" and string.sub(field, 3) ~= keep then drop_timer(of, string.sub(field, 3)) end
  end
end

-- How often it was entered again; nil: it is gone.
function inbox.redeliveries(of, guid)
  local where = call("HGET", of.pending, guid) or call("HGET", of.hash, timer_field(guid))
  return where and string.match(where, "^%S+ (%d+)")
end

function inbox.count(of, guid)
  local to, field = of.pending, guid
  local where = call("HGET", to, field)
  if not where then
    to, field = of.hash, timer_field(guid)
    where = call("HGET", to, field)
  end
  if not where then return end
  local first, count, behind = string.match(where, "^(%S+ )(%d+)(.*)$")
  call("HSET", to, field, first .. text(tonumber(count) + 1) .. behind)
end

-- A run that has messages, not counting timers, is in the ZSET of waiting runs, once.
function inbox.note(of, kind)
  if not of.inbox_changed then return end
  of.inbox_changed = nil
  local member = wide(of.run) .. ":" .. kind
  if of.inbox_filled or call("EXISTS", of.inbox) == 1 then call("ZADD", key.waiting, "NX", 0, member)
  else call("ZREM", key.waiting, member) end
end

-- Into the inbox of a job. A closed job takes no message: late messages have no effect.
function inbox.insert(of, status, guid, kind, body)
  if inbox.has(of, guid) then return already_done() end
  if not status or closed[status] then return committed() end
  inbox.put(of, guid, kind, body, "0")
  inbox.note(of, "job")
  ring(of.run)
  return committed()
end
