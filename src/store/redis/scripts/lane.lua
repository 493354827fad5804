-- Applies a group of operations to one lane. The parts of this script are the files of this folder, in the order of
-- scripts.cmake.
--
-- 1. Every operation is checked first and writes only when it cannot fail any more: Redis does not roll back.
-- 2. All keys are declared: those of the lane, and those of every run that is named. If an operation needs another run,
--    or a token that only the caller can compute, the group stops there: the operations before it are applied and
--    answered, and the caller sends the rest again (`wants`).
-- 3. Numbers that may be beyond 2^53 (runs, tokens, epochs, revs) are texts here: they are compared, and Redis counts
--    them. Times in microseconds and sequence numbers fit a Lua number.
-- 4. As a function of the server, the definitions are executed once, and what belongs to one call is set by
--    `begin_call` and `begin_lane`: nothing that the call before left may count. As a script, all of this is executed
--    for every group; so what the bundles of jobs do not need is in `load_rest`, which is called only when needed.
local unpack = unpack
local call        -- redis.call: a function of the server does not have it while it is loaded
local KEYS, ARGV  -- of this call

local taken_args
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

-- What belongs to the lane whose group is being applied. `begin_lane` sets all of it.
local now, store_id, seen_commits, lane_number, sender, bell, no_run  -- no_run: the lane's run number 0
local key                    -- by name
local lane                   -- as it is stored. `place`: the last number in the queue of work
local placed                 -- whether that number changed
local runs                   -- runs whose keys are declared: the index where they begin
local fresh, run_after       -- runs that may be created, with the names of their first messages; which one follows a run
local tokens
local rung_runs, rung_flags  -- what the lane's owner is notified of: which runs changed, and other changes
local keys_of_runs           -- that were looked up
local paused, last_run       -- topics, and the last run of the lane; none: not read yet
local items_read             -- items as they are stored; false: there is none
local made, behind           -- the job that this operation made, and the one before it: hashes
local kept_start             -- the start message of a job whose first step is the next operation: not written yet

local step_keys_at           -- the last key that was taken, of those of the bundles

local keys_of_lane = 20
local keys_of_run = 5
local keys_of_step = 2
local unpacked_max = 1000  -- how many arguments one call takes from a table

-- The clock is the server's, unless a test passes its own.
local function read_clock()
  local time = call("TIME")
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function begin_lane()
  now, store_id, seen_commits, lane_number, sender, bell, no_run = unpack(ARGV, 1, 7)
  now = now == "" and read_clock() or tonumber(now)
  key = {
    lane = KEYS[1], ids = KEYS[2], expiring = KEYS[3], waiting = KEYS[4], due = KEYS[5], items = KEYS[6], places = KEYS[7],
    ready = KEYS[8], later = KEYS[9], paused = KEYS[10], mailboxes = KEYS[11], sent = KEYS[12], taken = KEYS[13],
    signals = KEYS[14], announcements = KEYS[15], measures = KEYS[16], jobs = KEYS[17], labels = KEYS[18], runs = KEYS[19],
    begun = KEYS[20],
  }
  rung_runs, rung_flags, placed, paused, last_run, items_read, keys_of_runs = {}, {}, false, nil, nil, {}, {}
  runs, fresh, run_after, tokens = {}, {}, {}, {}
  made, behind, kept_start = nil, nil, nil
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
  for _ = 1, tonumber(take()) do
    local of = take()
    tokens[of] = take()
  end
  local row = call("HMGET", key.lane, "owner", "epoch", "lease", "store", "commits", "place")
  lane = {
    owner = row[1] or "", epoch = row[2] or "0", lease = row[3] or "",
    store = row[4] or "", commits = row[5] or "0", place = tonumber(row[6] or "0"),
  }
  step_keys_at = next_key
end
local function owns(epoch) return lane.owner ~= "" and lane.epoch == epoch end
local function fenced() return answer("fenced", "the lane has another owner") end

local function next_place()
  lane.place, placed = lane.place + 1, true
  return string.format("%016d", lane.place)
end

local closed = {completed = true, failed = true, interrupted = true}

local operations = {}  -- by name; each takes its own arguments
local rest = nil       -- set by `load_rest`
local load_rest
