#!lua
-- Applies a group of operations to one lane. The parts of this script are the files of this folder, in the order of
-- scripts.cmake.
--
-- 1. Every operation is checked first and writes only when it cannot fail any more: Redis does not roll back.
-- 2. All keys are declared: those of the lane, and those of every run that is named. If an operation needs another run,
--    or a token that only the caller can compute, the group stops there: the operations before it are applied and
--    answered, and the caller sends the rest again (`wants`).
-- 3. Numbers that may be beyond 2^53 (runs, tokens, epochs, revs) are texts here: they are compared, and Redis counts
--    them. Times in microseconds and sequence numbers fit a Lua number.
-- 4. All of this is executed once for every group, including definitions. So what the bundles of jobs do not need is in
--    `load_rest`, which is called only when needed.
local call, unpack = redis.call, unpack
local ARGV, KEYS = ARGV, KEYS

local taken_args = 0
local function take()
  taken_args = taken_args + 1
  return ARGV[taken_args]
end

local function text(number) return string.format("%.0f", number) end

-- An answer: its kind, the reason, and the operation's further results. A committed one without results is the word
-- alone.
local function answer(kind, reason, ...) return {kind, reason or "", ...} end
local function conflict(why, ...) return answer("conflict", why, ...) end
local function rejected(why) return answer("rejected", why) end

-- The clock is the server's, unless a test passes its own.
local now, store_id, seen_commits, lane_number, sender, bell, no_run = unpack(ARGV, 1, 7)  -- no_run: the lane's run number 0
if now == "" then
  local time = call("TIME")
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
else
  now = tonumber(now)
end

local key = {
  lane = KEYS[1], ids = KEYS[2], expiring = KEYS[3], waiting = KEYS[4], due = KEYS[5], items = KEYS[6], places = KEYS[7],
  ready = KEYS[8], later = KEYS[9], paused = KEYS[10], mailboxes = KEYS[11], sent = KEYS[12], taken = KEYS[13],
  signals = KEYS[14], announcements = KEYS[15], measures = KEYS[16], jobs = KEYS[17], labels = KEYS[18], runs = KEYS[19],
  begun = KEYS[20],
}
local keys_of_lane = 20
local keys_of_run = 5

local runs = {}      -- runs whose keys are declared: the index where they begin
local fresh = {}     -- runs that may be created, with the names of their first messages,
local run_after = {} -- and which of them follows a run
do
  local next_key = keys_of_lane + tonumber(ARGV[8])  -- after those of the outboxes
  taken_args = 8
  for _ = 1, tonumber(take()) do
    runs[take()] = next_key
    next_key = next_key + keys_of_run
  end
  local count = tonumber(take())
  local run_before = count > 0 and take()
  for _ = 1, count do
    local run = take()
    run_after[run_before], run_before = run, run
    runs[run] = next_key
    next_key = next_key + keys_of_run
    fresh[run] = {start = take(), deadline = take(), replaced = take()}
  end
end
local tokens = {}
for _ = 1, tonumber(take()) do
  local of = take()
  tokens[of] = take()
end

-- What the lane's owner is notified of, if another process commits: which runs changed, and other changes.
local rung_runs, rung_flags = {}, {}

-- The lane as it is stored. `place`: the last number in the queue of work.
local lane = {}
do
  local row = call("HMGET", key.lane, "owner", "epoch", "lease", "store", "commits", "place")
  lane.owner, lane.epoch, lane.lease = row[1] or "", row[2] or "0", row[3] or ""
  lane.store, lane.commits, lane.place = row[4] or "", row[5] or "0", tonumber(row[6] or "0")
end
local function owns(epoch) return lane.owner ~= "" and lane.epoch == epoch end
local function fenced() return answer("fenced", "the lane has another owner") end

local placed = false
local function next_place()
  lane.place, placed = lane.place + 1, true
  return string.format("%016.0f", lane.place)
end

local closed = {completed = true, failed = true, interrupted = true}

local operations = {}  -- by name; each takes its own arguments
local rest = nil       -- set by `load_rest`
local load_rest
