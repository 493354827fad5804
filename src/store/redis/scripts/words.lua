-- Words, names and runs, for everything except bundles of jobs.
local function take_list(count)
  local list = {}
  for i = 1, count do list[i] = take() end
  return list
end

-- As wide as the largest number, so that texts sort like numbers.
local function wide(digits) return string.rep("0", 20 - #digits) .. digits end
local function joined(part) return #part .. ":" .. part end

-- Stops the group: the caller must send more.
local function wants(...) error({wanted = {...}}) end

local function committed(...) return answer("committed", "", ...) end
local function already_done(...) return answer("already_done", "", ...) end

local function keys_of(run)
  local known = keys_of_runs[run]
  if known then return known end
  local first = runs[run]
  if not first then wants("run", run) end
  known = {
    run = run,
    hash = KEYS[first + 1],
    history = KEYS[first + 2],
    inbox = KEYS[first + 3],
    pending = KEYS[first + 4],
    entries = KEYS[first + 5],
  }
  keys_of_runs[run] = known
  return known
end

local function ring(run) rung_runs[run] = true end
local function ring_flag(flag) rung_flags[flag] = true end

local status_digit = {running = "0", completed = "1", failed = "2", interrupted = "3", parked = "4", paused = "5"}
