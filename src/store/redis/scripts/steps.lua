-- Bundles of jobs: the guards in their order, then the writes. These are nearly all operations of a lane, so arguments
-- are read in place, and what many bundles write into the lane's own keys is written once for all of them (`flush`).

-- Work that is in no queue: the lane's owner claims it in the bundle that puts it. It is only in `items` and `places`.
local item_sets, item_drops, place_adds, place_drops
local unflushed
local shapes  -- of bundles: what those of the same shape have in common, as words. Most of a group have one or two

local function begin_call()
  item_sets, item_drops, place_adds, place_drops, unflushed, shapes = {}, {}, {}, {}, {}, {}
end

local function in_steps(command, to, list)
  for first = 1, #list, unpacked_max do call(command, to, unpack(list, first, math.min(first + unpacked_max - 1, #list))) end
end

-- The same with arguments of the script.
local function call_in_steps(command, to, behind, last)
  for first = behind + 1, last, unpacked_max do call(command, to, unpack(ARGV, first, math.min(first + unpacked_max - 1, last))) end
end

local function flush()
  if #item_drops > 0 then
    in_steps("HDEL", key.items, item_drops)
    in_steps("ZREM", key.places, place_drops)
    item_drops, place_drops = {}, {}
  end
  if #item_sets > 0 then
    in_steps("HSET", key.items, item_sets)
    in_steps("ZADD", key.places, place_adds)
    item_sets, place_adds = {}, {}
  end
  unflushed = {}
end

local function find_item(place)
  if unflushed[place] then flush() end
  local known = items_read[place]
  if known ~= nil then return known end
  return call("HGET", key.items, place)
end

local function hand_work(place, words, input)
  local n = #item_sets
  item_sets[n + 1], item_sets[n + 2] = place, next_place() .. " " .. words
  if input ~= "" then item_sets[n + 3], item_sets[n + 4] = place .. ":input", input end
  n = #place_adds
  place_adds[n + 1], place_adds[n + 2] = 0, place
  unflushed[place], items_read[place] = true, nil
end

-- After its number and its place in order, which have a fixed width: "-": it cannot be claimed, "0": it has no wake-up
-- time.
local function is_in_no_line(words) return string.sub(words, 28, 32) == " - 0 " end

local function drop_work(place, words)
  if not is_in_no_line(words) then
    flush()
    return load_rest().work.drop(place)
  end
  local n = #item_drops
  item_drops[n + 1], item_drops[n + 2], item_drops[n + 3] = place, place .. ":input", place .. ":progress"
  place_drops[#place_drops + 1] = place
  unflushed[place], items_read[place] = true, nil
end

local function is_paused(topic)
  if not paused then
    paused = {}
    for _, one in ipairs(call("SMEMBERS", key.paused)) do paused[one] = true end
  end
  return paused[topic]
end

-- setStatusAndCollateGuid of the protocol (store/snapshot.h): moves the semaphore, decides the hit from what is stored now,
-- adds the digit to the ledger of the message that made the step, and answers the hit.
local function step_semaphore_and_snapshot(hash, stored, delta, threshold, message, weight)
  if delta ~= "0" then stored = text(call("HINCRBY", hash, "semaphore", delta)) end
  local hit = stored == threshold
  if message ~= "" and hit then call("HINCRBY", hash, message, weight) end
  return hit
end

-- Guard 2, for a rev that is not the expected one.
local function check_rev(hash, stored, before, rev, id)
  if stored == rev and call("HGET", hash, "bundle") == id then return answer("already_done") end
  return conflict("rev is " .. stored .. ", expected " .. before)
end

-- "<completions> <next activity>", and more after it.
local function check_completions(stored, before)
  if string.match(stored, "^%d+") ~= string.match(before, "^%d+") then
    return rejected("completion tasks ran without this bundle's knowledge")
  end
end
local function check_next(stored, before)
  local next_activity, expected = string.match(stored, "^%d+ (%d+)"), string.match(before, "^%d+ (%d+)")
  if next_activity ~= expected then
    return rejected("the next activity is " .. next_activity .. ", the bundle begins with " .. expected)
  end
end

local function stale(place)
  return conflict("work item " .. text(tonumber(string.sub(place, 22))) .. " is no longer held by this token")
end

-- The values that the bundle was computed from: fields of the job's hash and what they must hold ("": nothing). The
-- first ones were read with the job's row, from behind `row_at`.
local words_of_row = 4
local fields_with_row = 200
local function check_fields(hash, row, row_at, first, count)
  local function wrong(i, value)
    return answer("wrong_field", "", ARGV[first + i], ARGV[first + count + i], value or "")
  end
  for i = 1, math.min(count, fields_with_row) do
    if (row[row_at + i] or "") ~= ARGV[first + count + i] then return wrong(i, row[row_at + i]) end
  end
  for from = fields_with_row + 1, count, unpacked_max do
    local to = math.min(from + unpacked_max - 1, count)
    local stored = call("HMGET", hash, unpack(ARGV, first + from, first + to))
    for i = from, to do
      if (stored[i - from + 1] or "") ~= ARGV[first + count + i] then return wrong(i, stored[i - from + 1]) end
    end
  end
end

-- Whether one of the fields to remove exists; if they were not read, they may.
local function has_fields(row, count)
  for i = 1, count do
    if row[words_of_row + i] then return true end
  end
  return count == 0
end

-- The first bundle has no entry: its effect is in the job's hash, and many jobs wait there for long. A stream that XADD
-- creates reserves 4 KB; a copied stream is only as large as its content, so all histories begin as copies of one.
local history_entries_max = "10000"  -- per job; this many bundles have revs of five digits
local function write_history(history, rev, did)
  if rev == "1" then return end
  if rev == "2" and call("COPY", key.begun, history) == 0 then
    call("XADD", key.begun, "1-0", "did", "begun")
    call("COPY", key.begun, history)
  end
  if #rev > 4 then call("XADD", history, "MAXLEN", "~", history_entries_max, rev .. "-0", "did", did)
  else call("XADD", history, rev .. "-0", "did", did) end
end

local function shape_of(words)
  local epoch, status, rest_of = string.match(words, "^(%S+) (%S+) (.*)$")
  local numbers = {}
  for word in string.gmatch(rest_of, "%d+") do numbers[#numbers + 1] = tonumber(word) end
  local shape = {epoch = epoch, status = status}
  shape.fields, shape.added, shape.set, shape.dropped, shape.ended, shape.topics, shape.hands, shape.odd, shape.steps, shape.flaws,
      shape.first = unpack(numbers)
  shapes[words] = shape
  return shape
end

-- Of a first step: its submit left the start message to it. Otherwise the message is in the inbox, as always.
local takes_start = 2

-- Arguments: where the keys begin, the shape, rev and head before, the semaphore before ("": unchanged), what it did;
-- then lists whose lengths the shape gives: fields to remove, fields and what they must hold, fields and what is added to
-- them, fields and what is set (rev and bundle are the first ones), work that ends (place, the token that holds it
-- or ""), topics of claimed work, work that it puts and holds (place, words, input); the step of the semaphore; the run
-- and all other writes; why it must be refused.
function operations.job()
  local at = taken_args
  local key_at, shape, rev_before, head_before, semaphore, did = unpack(ARGV, at + 1, at + 6)
  shape = shapes[shape] or shape_of(shape)
  local dropped_at = at + 6
  local fields_at = dropped_at + shape.dropped
  local added_at = fields_at + 2 * shape.fields
  local set_at = added_at + shape.added
  local ended_at = set_at + shape.set
  local topics_at = ended_at + shape.ended
  local hands_at = topics_at + shape.topics
  taken_args = hands_at + shape.hands
  local delta, threshold, hit, message, weight = "0", "", "0", "", ""
  if shape.steps == 1 then delta, threshold, hit, message, weight = take(), take(), take(), take(), take() end
  local of = nil
  local odd_writes = nil
  key_at = tonumber(key_at)
  local hash = KEYS[key_at + 1]
  if shape.odd > 0 then
    flush()
    of = {run = take(), hash = hash, inbox = KEYS[key_at + 3], pending = KEYS[key_at + 4]}
    odd_writes = load_rest().take_writes(shape.odd)
  end
  local wrong, wrong_step = "", ""
  if shape.flaws == 1 then wrong, wrong_step = take(), take() end

  -- The first step of the job that the submit right before made. Another job may have got its number.
  if shape.first > 0 and behind ~= hash then return answer("not_behind") end
  if not owns(shape.epoch) then return fenced() end
  -- A few fields to remove are read too: most of them do not exist.
  local read_at = shape.dropped <= fields_with_row and dropped_at or fields_at
  local row = call("HMGET", hash, "rev", "status", "semaphore", "head",
                   unpack(ARGV, read_at + 1, fields_at + math.min(shape.fields, fields_with_row)))
  if not row[1] then return answer("no_job") end
  local rev, status, was = ARGV[set_at + 2], shape.status, row[2]
  if row[1] ~= rev_before then return check_rev(hash, row[1], rev_before, rev, ARGV[set_at + 4]) end
  if not was then return rejected("a job's bundle for a mailbox") end

  -- Others may claim an item between two bundles, so a changed token is a race and not a mistake. A bundle may claim
  -- the work it puts; its engine may not know yet that the topic is paused.
  local ending = nil
  for i = ended_at + 1, topics_at, 2 do
    local place, token = ARGV[i], ARGV[i + 1]
    local words = find_item(place)
    if token ~= "" and (not words or string.match(words, "^%S+ %S+ %S+ %S+ %S+ (%S+)") ~= token) then return stale(place) end
    ending = ending or {}
    ending[i] = words
  end
  if odd_writes then
    local refusal = rest.check_changes(odd_writes)
    if refusal then return refusal end
  end
  for i = topics_at + 1, hands_at do
    if is_paused(ARGV[i]) then return conflict("a topic of its work is paused") end
  end

  if was ~= status and closed[was] then return rejected("a " .. was .. " job would become " .. status) end
  if semaphore ~= "" then
    if row[3] ~= semaphore then return rejected("semaphore is " .. row[3] .. ", expected " .. semaphore) end
    if wrong_step ~= "" then return rejected(wrong_step) end
    if shape.steps == 1 and (tonumber(semaphore) + tonumber(delta) == tonumber(threshold)) ~= (hit == "1") then return answer("other_hit") end
  end
  local refusal = row[4] ~= head_before and check_completions(row[4], head_before) or check_fields(hash, row, words_of_row + fields_at - read_at, fields_at, shape.fields)
  if refusal then return refusal end
  if wrong ~= "" then return rejected(wrong) end
  refusal = row[4] ~= head_before and check_next(row[4], head_before) or odd_writes and rest.check_redeliveries(of, odd_writes)
  if refusal then return refusal end

  if shape.first == takes_start then kept_start = nil end
  for i = added_at + 1, set_at, 2 do call("HINCRBY", hash, ARGV[i], ARGV[i + 1]) end
  call_in_steps("HSET", hash, set_at, ended_at)
  if shape.dropped > 0 and has_fields(row, fields_at - read_at) then call_in_steps("HDEL", hash, dropped_at, fields_at) end
  if shape.steps == 1 then step_semaphore_and_snapshot(hash, semaphore, delta, threshold, message, weight) end
  if was ~= status then
    call("HSET", hash, "status", status)
    load_rest().jobs.move(string.match(hash, "%d+$"), was, status)
  end
  write_history(KEYS[key_at + 2], rev, did)
  for i = ended_at + 1, topics_at, 2 do
    if ending[i] then drop_work(ARGV[i], ending[i]) end
  end
  for i = hands_at + 1, hands_at + shape.hands, 3 do hand_work(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  if odd_writes then
    flush()
    of.was_closed = closed[was]
    rest.apply_writes(of, odd_writes)
    rest.inbox.note(of, "job")
  end
  return "committed"
end
