#!lua
-- Data of no lane: pools, engines and apps. Operations are applied one after the other; each checks before it writes.
local call = redis.call

local taken_args = 0
local function take()
  taken_args = taken_args + 1
  return ARGV[taken_args]
end
local function take_key() return KEYS[tonumber(take())] end
local function text(number) return string.format("%.0f", number) end

local now = take()
if now == "" then
  local time = call("TIME")
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
else
  now = tonumber(now)
end
local store, pools = KEYS[1], KEYS[2]
local store_id, bell, sender = take(), take(), take()
local layout_max = tonumber(take())
local stored = call("HMGET", store, "id", "layout")
if stored[1] ~= store_id then return {"another_store", stored[1] or ""} end
if stored[2] and tonumber(stored[2]) > layout_max then return {"newer_layout", stored[2]} end

local operations = {}

-- Lanes are numbered from 1 over all pools: "<first> <lanes>".
function operations.open_pool()
  local pool, lanes, per_pool_max, lanes_max = take(), tonumber(take()), tonumber(take()), tonumber(take())
  local known = call("HGET", pools, pool)
  if known then
    local has = string.match(known, "(%d+)$")
    if tonumber(has) == lanes then return {"already_done", ""} end
    return {"rejected", "pool " .. pool .. " has " .. has .. " lanes for good; " .. text(lanes) .. " were asked for"}
  end
  if lanes == 0 or lanes > per_pool_max then
    return {"rejected", "a pool has 1 to " .. text(per_pool_max) .. " lanes, not " .. text(lanes)}
  end
  local before = tonumber(call("HGET", store, "lanes") or "0")
  if before + lanes > lanes_max then
    return {"rejected", "all pools together have at most " .. text(lanes_max) .. " lanes"}
  end
  call("HINCRBY", store, "lanes", lanes)
  call("HSET", pools, pool, text(before + 1) .. " " .. text(lanes))
  return {"committed", ""}
end

-- A HASH of a pool's engines: "<until> <leaving> <holds> <serves>".
function operations.beat_engine()
  local engines, pool, reason = take_key(), take(), take()
  local name, lease, has_holds, holds, serves, leaving = take(), tonumber(take()), take(), take(), take(), take()
  if call("HEXISTS", pools, pool) == 0 then return {"rejected", reason} end
  -- it has just started: the lanes that its previous process held count, even if that ended long ago
  if has_holds == "0" then
    local known = call("HGET", engines, name)
    holds = known and string.match(known, "^%S+ %S+ (%S+)") or holds
  end
  call("HSET", engines, name, text(now + lease) .. " " .. leaving .. " " .. holds .. " " .. serves)
  local outcome = {"committed", ""}
  local rows = call("HGETALL", engines)
  for i = 1, #rows, 2 do
    if tonumber(string.match(rows[i + 1], "^%d+")) <= now then
      call("HDEL", engines, rows[i])
    else
      outcome[#outcome + 1] = rows[i]
      outcome[#outcome + 1] = rows[i + 1]
    end
  end
  return outcome
end

function operations.leave_engine()
  local engines, name = take_key(), take()
  return {call("HDEL", engines, name) == 0 and "already_done" or "committed", ""}
end

-- A HASH of a namespace's apps: at "b:" a version's bytes, at "t:" when it was deployed, at "a:" the current version of
-- an app.
function operations.put_app()
  local apps, version, body, reason = take_key(), take(), take(), take()
  local known = call("HGET", apps, "b:" .. version)
  if known then
    if known == body then return {"already_done", ""} end
    return {"exists", reason}
  end
  call("HSET", apps, "b:" .. version, body, "t:" .. version, text(now))
  if bell ~= "" then call("PUBLISH", bell, sender .. " 0 -g ") end
  return {"committed", ""}
end

function operations.activate_app()
  local apps, app, number, version, reason = take_key(), take(), take(), take(), take()
  if call("HEXISTS", apps, "b:" .. version) == 0 then return {"rejected", reason} end
  if call("HGET", apps, "a:" .. app) == number then return {"already_done", ""} end
  call("HSET", apps, "a:" .. app, number)
  return {"committed", ""}
end

local outcomes = {}
for i = 1, tonumber(take()) do outcomes[i] = operations[take()]() end
return {"ok", "0", outcomes, {}}
