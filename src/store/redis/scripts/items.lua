#!lua flags=no-writes,allow-oom
-- Work items of a range of places, with their payloads: {place, words, input, progress} for each. "<run>.": the item is in
-- its job's hash, which the caller reads.
-- KEYS: items, places. ARGV: the range, how many at most, of how many bytes (the first one is read at any size); a place
-- before the range that comes first if it exists ("": none).
local items, places = KEYS[1], KEYS[2]
local rows_max, bytes_max = tonumber(ARGV[3]), tonumber(ARGV[4])
local rows, bytes = {}, 0
if ARGV[5] ~= "" and redis.call("ZSCORE", places, ARGV[5]) then
  rows[1] = {ARGV[5], "", "", ""}
  rows_max = rows_max - 1
end
for _, place in ipairs(redis.call("ZRANGE", places, ARGV[1], ARGV[2], "BYLEX", "LIMIT", 0, rows_max)) do
  local row = redis.call("HMGET", items, place, place .. ":input", place .. ":progress")
  bytes = bytes + #(row[2] or "") + #(row[3] or "")
  if bytes > bytes_max and #rows > 0 then break end
  rows[#rows + 1] = {place, row[1] or "", row[2] or "", row[3] or ""}
end
return rows
