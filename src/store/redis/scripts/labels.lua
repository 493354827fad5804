-- Labels, measures and announcements of jobs. A label is in the ZSET `labels` twice, in the order of runs: with its key
-- before the run, and after it. `what` is joined(name) .. joined(value) .. joined(key).
local labels = {}

local function parts_of(what)
  local parts, at = {}, 1
  while at <= #what do
    local colon = string.find(what, ":", at, true)
    local size = tonumber(string.sub(what, at, colon - 1))
    parts[#parts + 1] = string.sub(what, at, colon + size)
    at = colon + size + 1
  end
  return parts
end

local function members(of, job, what)
  local parts = parts_of(what)
  local value = joined(job.ns) .. joined(job.graph) .. parts[1] .. parts[2]
  return "k" .. value .. parts[3] .. wide(of.run), "v" .. value .. wide(of.run) .. parts[3]
end

function labels.put(of, job, what)
  local by_key, by_value = members(of, job, what)
  call("HSET", of.hash, "l:" .. what, "")
  call("ZADD", key.labels, 0, by_key, 0, by_value)
end
function labels.drop(of, job, what)
  local by_key, by_value = members(of, job, what)
  call("HDEL", of.hash, "l:" .. what)
  call("ZREM", key.labels, by_key, by_value)
end

-- "<count> <sum> <least> <most>"; these numbers are measured values, and are not more exact than those.
function labels.measure(job, what, number)
  local field = joined(job.ns) .. joined(job.graph) .. what
  local value = tonumber(number)
  local count, sum, least, most = 0, 0, value, value
  local known = call("HGET", key.measures, field)
  if known then
    local words = {}
    for word in string.gmatch(known, "%S+") do words[#words + 1] = tonumber(word) end
    count, sum, least, most = words[1], words[2], math.min(words[3], value), math.max(words[4], value)
  end
  local numbers = string.format("%.0f %.17g %.17g %.17g", count + 1, sum + value, least, most)
  call("HSET", key.measures, field, numbers)
end

function labels.announce(of, job, said)
  local seq = text(call("HINCRBY", key.lane, "announced", 1))
  call("XADD", key.announcements, seq .. "-0", "run", of.run, "ns", job.ns, "id", job.id, unpack(said))
  call("HSET", of.hash, "n:" .. seq, "")
end
