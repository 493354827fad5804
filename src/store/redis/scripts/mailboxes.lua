-- Mailboxes: a HASH each, with its entries as fields "e:<seq>", and the ZSET `entries` with these in order:
-- registrations ("r<seq>"), waiting signals ("s<seq>") and signals that are offered to a registration ("o<its
-- guid><seq>").
local mailboxes = {}

function mailboxes.find_or_make(name, row)
  local run = call("HGET", key.mailboxes, name)
  if run then return keys_of(run) end
  run = jobs.next_run()
  local of = keys_of(run)
  call("HSET", of.hash, "name", name, "rev", "0", "bundle", "0", "next", "0", unpack(row))
  call("HSET", key.mailboxes, name, run)
  return of
end

-- `bytes`: of a signal's data; "": it is not a signal.
function mailboxes.deliver(of, guid, kind, body, bytes, signals_max, bytes_max)
  if inbox.has(of, guid) then return already_done(of.run) end
  if bytes ~= "" then
    local row = call("HMGET", of.hash, "signals", "bytes")
    local signals, held = tonumber(row[1] or "0"), tonumber(row[2] or "0")
    if signals >= signals_max or held + tonumber(bytes) > bytes_max then
      return answer("over_limit", "", of.run, text(signals), text(held))
    end
    call("HINCRBY", of.hash, "signals", 1)
    call("HINCRBY", of.hash, "bytes", bytes)
  end
  inbox.put(of, guid, kind, body, "0")
  inbox.note(of, "mailbox")
  ring(of.run)
  return committed(of.run)
end

-- An entry is "<r or s> <guid> <expires> <offered to, or -> ..."
local function parse_entry(value)
  local kind, guid, _, offered = string.match(value, "^(%S+) (%S+) (%S+) (%S+)")
  return {kind = kind, guid = guid, offered = offered}
end
local function member_of(seq, entry)
  if entry.offered ~= "-" then return "o" .. entry.offered .. wide(seq) end
  return entry.kind .. wide(seq)
end

local function enter(of, seq, value, data)
  local entry = parse_entry(value)
  call("HSET", of.hash, "e:" .. seq, value)
  if data ~= "" then call("HSET", of.hash, "d:" .. seq, data) end
  if entry.kind == "r" then call("HSET", of.hash, "g:" .. entry.guid, seq) end
  call("ZADD", of.entries, 0, member_of(seq, entry))
end

local function take_from(of, field, number)
  local left = tonumber(call("HGET", of.hash, field) or "0") - number
  if left > 0 then call("HSET", of.hash, field, text(left)) else call("HDEL", of.hash, field) end
end

local function leave(of, seq)
  local entry = parse_entry(call("HGET", of.hash, "e:" .. seq))
  call("ZREM", of.entries, member_of(seq, entry))
  if entry.kind == "r" then
    call("HDEL", of.hash, "g:" .. entry.guid)
  else
    take_from(of, "signals", 1)
    take_from(of, "bytes", call("HSTRLEN", of.hash, "d:" .. seq))
  end
  call("HDEL", of.hash, "e:" .. seq, "d:" .. seq)
end

local function offer(of, seq, to)
  local value = call("HGET", of.hash, "e:" .. seq)
  call("ZREM", of.entries, member_of(seq, parse_entry(value)))
  value = string.gsub(value, "^(%S+ %S+ %S+) %S+", "%1 " .. to)
  call("HSET", of.hash, "e:" .. seq, value)
  call("ZADD", of.entries, 0, member_of(seq, parse_entry(value)))
end

-- None: no error.
function mailboxes.check(of, stored_next, next_entry, list)
  if wide(next_entry) < wide(stored_next) then return rejected("the numbers of entries only grow") end
  for _, write in ipairs(list) do
    if write.what == "put_entry" and wide(write.seq) < wide(stored_next) then
      return rejected("entry " .. write.seq .. " is out of turn")
    elseif write.what == "drop_entry" or write.what == "offer_entry" then
      local value = call("HGET", of.hash, "e:" .. write.seq)
      if not value then return rejected("entry " .. write.seq .. " is missing") end
      local entry = parse_entry(value)
      if write.what == "offer_entry" and (entry.kind ~= "s" or entry.guid ~= write.guid) then
        return rejected("entry " .. write.seq .. " is not the signal that is offered")
      end
    end
  end
end

mailboxes.writes = {
  put_entry = function(of, write) enter(of, write.seq, write.value, write.data) end,
  drop_entry = function(of, write) leave(of, write.seq) end,
  offer_entry = function(of, write) offer(of, write.seq, write.to) end,
}

-- A mailbox is removed when nothing is left in it.
function mailboxes.drop_if_empty(of)
  if call("EXISTS", of.entries, of.pending) > 0 or call("HEXISTS", of.hash, "t") == 1 then return end
  call("HDEL", key.mailboxes, call("HGET", of.hash, "name"))
  call("DEL", of.hash)
end
