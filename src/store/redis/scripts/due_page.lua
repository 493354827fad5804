#!lua flags=no-writes,allow-oom
-- A page of what the clock sets going, behind a place (time and member) that need not exist any more: the first member of that
-- time behind it is found by halving, so a page costs a page, however many are due together.
-- KEYS: due. ARGV: the time or "", the member, how many at most. Answers members and times in turn.
local due, at, member, rows_max = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local first = 0
if at ~= "" then
  first = redis.call("ZCOUNT", due, "-inf", "(" .. at)
  local last = first + redis.call("ZCOUNT", due, at, at)  -- behind those of this time
  while first < last do
    local middle = math.floor((first + last) / 2)
    if redis.call("ZRANGE", due, middle, middle)[1] <= member then first = middle + 1 else last = middle end
  end
end
if rows_max == 0 then return {} end
return redis.call("ZRANGE", due, first, first + rows_max - 1, "WITHSCORES")
