#!lua
-- Applies a group of operations to one lane. The parts of this script are the files of this folder, put together in the
-- order of CMakeLists.txt.
--
-- 1. Every operation is checked first and writes only when nothing can go wrong with it any more: Redis does not roll back.
-- 2. All keys are declared: those of the lane, and five for every run that is named. An operation that finds out that it
--    needs another run, or a token that only the caller can compute, stops the group there: what came before is applied and
--    answered, and the caller asks again for the rest (`wants`).
-- 3. Numbers that may be beyond 2^53 (runs, tokens, epochs, revs) are texts here: they are compared, and counted by Redis.
--    Times in microseconds and sequence numbers fit a Lua number.
local call = redis.call

local taken_args = 0
local function take()
  taken_args = taken_args + 1
  return ARGV[taken_args]
end
local function take_list(count)
  local list = {}
  for i = 1, count do list[i] = take() end
  return list
end

local function text(number) return string.format("%.0f", number) end
-- As wide as the largest number, so that the order of texts is that of numbers.
local function wide(digits) return string.rep("0", 20 - #digits) .. digits end
local function joined(part) return #part .. ":" .. part end

-- What stops the group: the caller has to say more.
local function wants(...) error({wanted = {...}}) end

-- An answer: its kind, the reason, and what the operation answers beyond that.
local function answer(kind, reason, ...) return {kind, reason or "", ...} end
local function committed(...) return answer("committed", "", ...) end
local function already_done(...) return answer("already_done", "", ...) end
local function conflict(why, ...) return answer("conflict", why, ...) end
local function rejected(why) return answer("rejected", why) end
local function fenced() return answer("fenced", "the lane has another owner") end

-- The clock is the server's, unless a test brings its own.
local now = take()
if now == "" then
  local time = call("TIME")
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
else
  now = tonumber(now)
end

local key = {}
for i, name in ipairs({"lane", "ids", "expiring", "waiting", "due", "items", "places", "ready", "later", "paused",
                       "mailboxes", "sent", "taken", "signals", "announcements", "measures", "jobs", "labels", "runs"}) do
  key[name] = KEYS[i]
end
local keys_of_lane = 19
local keys_of_run = 5

local store_id = take()
local seen_commits = take()
local lane_number = take()
local sender = take()
local bell = take()
local no_run = take()  -- the lane's run number 0

local runs = {}      -- whose keys are declared
local fresh = {}     -- runs that may be made, with the names of their first messages
do
  local next_key = keys_of_lane + tonumber(take())  -- behind those of the outboxes
  local function declare(run)
    runs[run] = {
      run = run,
      hash = KEYS[next_key + 1],
      inbox = KEYS[next_key + 2],
      pending = KEYS[next_key + 3],
      history = KEYS[next_key + 4],
      entries = KEYS[next_key + 5],
    }
    next_key = next_key + keys_of_run
  end
  for _ = 1, tonumber(take()) do declare(take()) end
  for _ = 1, tonumber(take()) do
    local run = take()
    declare(run)
    fresh[run] = {start = take(), deadline = take(), replaced = take()}
  end
end
local tokens = {}
for _ = 1, tonumber(take()) do
  local of = take()
  tokens[of] = take()
end

local function keys_of(run)
  local found = runs[run]
  if not found then wants("run", run) end
  return found
end

-- What the owner of the lane is told, if somebody else commits: which runs changed, and what beside them.
local rung_runs, rung_flags = {}, {}
local function ring(run) rung_runs[run] = true end
local function ring_flag(flag) rung_flags[flag] = true end

-- The lane as it is stored.
local lane = {}
do
  local row = call("HMGET", key.lane, "owner", "epoch", "lease", "store", "commits")
  lane.owner, lane.epoch, lane.lease = row[1] or "", row[2] or "0", row[3] or ""
  lane.store, lane.commits = row[4] or "", row[5] or "0"
end
local function owns(epoch) return lane.owner ~= "" and lane.epoch == epoch end

local closed = {completed = true, failed = true, interrupted = true}
local status_digit = {running = "0", completed = "1", failed = "2", interrupted = "3", parked = "4", paused = "5"}

local operations = {}  -- by name; each takes its own arguments
