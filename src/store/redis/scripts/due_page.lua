#!lua flags=no-writes,allow-oom
-- A page of what is due, after a place (time and member) that need not exist any more: the first member of that time
-- after the place is found by binary search, so the cost of a page does not depend on how many are due together.
-- KEYS: due. ARGV: the time or "", the member, how many at most. Returns members and times in turn.
local due, at, member, rows_max = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local first = 0
if at ~= "" then
  first = redis.call("ZCOUNT", due, "-inf", "(" .. at)
  local last = first + redis.call("ZCOUNT", due, at, at)  -- after those of this time
  while first < last do
    local middle = math.floor((first + last) / 2)
    if redis.call("ZRANGE", due, middle, middle)[1] <= member then first = middle + 1 else last = middle end
  end
end
if rows_max == 0 then return {} end
return redis.call("ZRANGE", due, first, first + rows_max - 1, "WITHSCORES")
