#!lua flags=no-writes,allow-oom
-- Work items of a range of places, with their payloads: {place, words, input, progress} for each.
-- KEYS: items, places. ARGV: the range, how many at most, of how many bytes (the first one is read at any size).
local items, places = KEYS[1], KEYS[2]
local rows_max, bytes_max = ARGV[3], tonumber(ARGV[4])
local rows, bytes = {}, 0
for _, place in ipairs(redis.call("ZRANGE", places, ARGV[1], ARGV[2], "BYLEX", "LIMIT", 0, rows_max)) do
  local row = redis.call("HMGET", items, place, place .. ":input", place .. ":progress")
  bytes = bytes + #(row[2] or "") + #(row[3] or "")
  if bytes > bytes_max and #rows > 0 then break end
  rows[#rows + 1] = {place, row[1] or "", row[2] or "", row[3] or ""}
end
return rows
