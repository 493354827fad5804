-- Messages to another lane wait in a STREAM for each target lane, numbered from 1 without gaps: the ids of its entries.
-- The target's lane stores the last number that it took from each source, in the HASH `taken`.
local outbox = {}

function outbox.put(stream, target, guid, kind, envelope)
  local seq = text(call("HINCRBY", key.sent, target, 1))
  call("XADD", stream, seq .. "-0", "guid", guid, "kind", kind, "envelope", envelope)
end

function outbox.has(stream, envelope)
  for _, entry in ipairs(call("XRANGE", stream, "-", "+")) do
    if entry[2][6] == envelope then return true end
  end
  return false
end

function operations.drop_outbox()
  local epoch, stream, target, up_to, next_after, reason = take(), KEYS[tonumber(take())], take(), take(), take(), take()
  if not owns(epoch) then return fenced() end
  local last = call("HGET", key.sent, target) or "0"
  if wide(up_to) > wide(last) then return rejected(reason) end
  call("XTRIM", stream, "MINID", next_after .. "-0")
  if call("XLEN", stream) == 0 then call("DEL", stream) end
  return committed()
end
