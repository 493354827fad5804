-- Messages of a job or a mailbox that are not consumed: a STREAM in order of arrival. `pending` is a HASH that finds them by
-- their guid: "<stream id> <redeliveries>". A timer is only there, "@<due> <redeliveries>" with its body beside it, and in
-- the ZSET of what is due.
local inbox = {}

function inbox.has(of, guid) return call("HEXISTS", of.pending, guid) == 1 end

-- False: it waits already. `at` "0": no timer.
function inbox.put(of, guid, kind, body, at)
  if inbox.has(of, guid) then return false end
  of.inbox_changed = true
  if at == "0" then
    local id = call("XADD", of.inbox, "*", "guid", guid, "kind", kind, "body", body)
    call("HSET", of.pending, guid, id .. " 0")
  else
    call("HSET", of.pending, guid, "@" .. at .. " 0", guid .. ":body", body)
    due.put(at, due.message(of.run, guid))
  end
  return true
end

local function drop_found(of, guid, where)
  of.inbox_changed = true
  if string.sub(where, 1, 1) == "@" then
    call("HDEL", of.pending, guid, guid .. ":body")
    due.drop(due.message(of.run, guid))
  else
    call("XDEL", of.inbox, string.match(where, "^%S+"))
    call("HDEL", of.pending, guid)
  end
end

function inbox.drop(of, guid)
  local where = call("HGET", of.pending, guid)
  if where then drop_found(of, guid, where) end
end

function inbox.drop_all_but(of, keep)
  local rows = call("HGETALL", of.pending)
  for i = 1, #rows, 2 do
    if #rows[i] == 32 and rows[i] ~= keep then drop_found(of, rows[i], rows[i + 1]) end
  end
end

-- How often it was entered again; nil: it is gone.
function inbox.redeliveries(of, guid)
  local where = call("HGET", of.pending, guid)
  return where and string.match(where, " (%d+)$")
end

function inbox.count(of, guid)
  local where = call("HGET", of.pending, guid)
  if not where then return end
  local place, count = string.match(where, "^(%S+) (%d+)$")
  call("HSET", of.pending, guid, place .. " " .. text(tonumber(count) + 1))
end

-- Whoever has messages, but for timers, stands in the ZSET of those that wait, once.
function inbox.note(of, kind)
  if not of.inbox_changed then return end
  of.inbox_changed = nil
  local member = wide(of.run) .. ":" .. kind
  if call("XLEN", of.inbox) == 0 then
    call("DEL", of.inbox)  -- an empty stream would stay
    call("ZREM", key.waiting, member)
  else
    call("ZADD", key.waiting, "NX", 0, member)
  end
end

-- Into the inbox of a job. A closed one takes nothing: whatever is late changes nothing.
function inbox.insert(of, status, guid, kind, body)
  if inbox.has(of, guid) then return already_done() end
  if not status or closed[status] then return committed() end
  inbox.put(of, guid, kind, body, "0")
  inbox.note(of, "job")
  ring(of.run)
  return committed()
end
