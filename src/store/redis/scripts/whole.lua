#!lua flags=no-writes,allow-oom
-- A job or a mailbox at one instant: its hash, its inbox, what is pending, and its work items ({place, words, input,
-- progress}; of one that is in the hash only the place, "<run>.").
-- Not a MULTI: a server without free memory refuses that, and then nothing could be read.
-- KEYS: run, inbox, pending, items, places. ARGV: the range of its places.
local call = redis.call
local items = {}
for i, place in ipairs(call("ZRANGE", KEYS[5], ARGV[1], ARGV[2], "BYLEX")) do
  local row = call("HMGET", KEYS[4], place, place .. ":input", place .. ":progress")
  items[i] = {place, row[1] or "", row[2] or "", row[3] or ""}
end
return {call("HGETALL", KEYS[1]), call("XRANGE", KEYS[2], "-", "+"), call("HGETALL", KEYS[3]), items}
