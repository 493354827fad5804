-- Bundles of jobs: the guards in their order, then the writes. These are nearly all operations of a lane, so arguments
-- are read in place, and what many bundles write into the lane's own keys is written once for all of them (`flush`).

-- Work that is in no queue: the lane's owner claims it in the bundle that puts it. It is only in `items` and `places`.
-- These lists are reused: the numbers say how many of their words count.
local item_sets, item_drops, place_adds, place_drops = {}, {}, {}, {}
local set_words, drop_words, adds, drops
local handed  -- places of `item_sets`
local shapes  -- of bundles: what those of the same shape have in common, as words. Most of a group have one or two

local function begin_call()
  set_words, drop_words, adds, drops, handed, shapes = 0, 0, 0, 0, {}, {}
end

local function in_steps(command, to, list, count)
  for first = 1, count, unpacked_max do call(command, to, unpack(list, first, math.min(first + unpacked_max - 1, count))) end
end

-- The same with arguments of the script.
local function call_in_steps(command, to, behind, last)
  for first = behind + 1, last, unpacked_max do call(command, to, unpack(ARGV, first, math.min(first + unpacked_max - 1, last))) end
end

local function flush()
  if drops > 0 then
    in_steps("HDEL", key.items, item_drops, drop_words)
    in_steps("ZREM", key.places, place_drops, drops)
    drop_words, drops = 0, 0
  end
  if adds > 0 then
    in_steps("HSET", key.items, item_sets, set_words)
    in_steps("ZADD", key.places, place_adds, adds)
    set_words, adds, handed = 0, 0, {}
  end
end

local function find_item(place)
  if handed[place] then flush() end
  local known = items_read[place]
  if known ~= nil then return known end
  return call("HGET", key.items, place)
end

local function hand_work(place, words, input)
  item_sets[set_words + 1], item_sets[set_words + 2] = place, next_place() .. " " .. words
  set_words = set_words + 2
  if input ~= "" then
    item_sets[set_words + 1], item_sets[set_words + 2] = place .. ":input", input
    set_words = set_words + 2
  end
  place_adds[adds + 1], place_adds[adds + 2] = "0", place
  adds = adds + 2
  handed[place] = true
  if items_read[place] ~= nil then items_read[place] = nil end
end

-- After its number and its place in order, which have a fixed width: "-": it cannot be claimed, "0": it has no wake-up
-- time.
local function is_in_no_line(words) return string.sub(words, 28, 32) == " - 0 " end

-- Behind its topic.
local function token_in(words)
  if is_in_no_line(words) then return string.match(words, "^%S+ (%S+)", 33) end
  return string.match(words, "^%S+ %S+ %S+ %S+ %S+ (%S+)")
end

local function drop_work(place, words)
  if not is_in_no_line(words) then
    flush()
    return load_rest().work.drop(place)
  end
  local n = drop_words
  item_drops[n + 1], item_drops[n + 2], item_drops[n + 3] = place, place .. ":input", place .. ":progress"
  drop_words, drops = n + 3, drops + 1
  place_drops[drops] = place
  items_read[place] = false
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

-- What must be as the bundle was computed from: `moved` ledgers exist and hold `befores`, `made` ones do not exist.
-- They were read behind the first `words_of_row` words of `row`, and behind the fields to drop.
local words_of_row = 4
local function wrong_field(field, expected, stored) return answer("wrong_field", "", field, expected, stored or "") end
local function check_fields(row, at, moved_at, befores_at, moved, made_at, made)
  for i = 1, moved do
    if row[at + i] ~= ARGV[befores_at + i] then return wrong_field(ARGV[moved_at + i], ARGV[befores_at + i], row[at + i]) end
  end
  at = at + moved
  for i = 1, made do
    if row[at + i] then return wrong_field(ARGV[made_at + 2 * i - 1], "", row[at + i]) end
  end
end

-- Whether one of the fields to remove exists.
local function has_fields(row, count)
  for i = 1, count do
    if row[words_of_row + i] then return true end
  end
end

-- The values of the first `count` of these fields.
local function read_fields(hash, fields, count)
  if count <= unpacked_max then return call("HMGET", hash, unpack(fields, 1, count)) end
  local row = {}
  for first = 1, count, unpacked_max do
    local last = math.min(first + unpacked_max - 1, count)
    local stored = call("HMGET", hash, unpack(fields, first, last))
    for i = first, last do row[i] = stored[i - first + 1] end
  end
  return row
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

-- "job", the epoch, the status and the semaphore before ("-": unchanged), numbers, and the topics of the work that it
-- claims.
local function shape_of(words)
  local epoch, status, semaphore, numbers, topics =
      string.match(words, "^job (%S+) (%S+) (%S+) (%d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+ %d+)(.*)$")
  local shape = {epoch = epoch, status = status, semaphore = semaphore ~= "-" and semaphore, topics = {}}
  local list = {}
  for number in string.gmatch(numbers, "%d+") do list[#list + 1] = tonumber(number) end
  shape.dropped, shape.moved, shape.made, shape.set, shape.ended, shape.hands, shape.odd, shape.steps, shape.flaws,
      shape.first = unpack(list)
  for topic in string.gmatch(topics, "%S+") do shape.topics[#shape.topics + 1] = topic end
  shapes[words] = shape
  return shape
end

-- Of a first step: its submit left the start message to it. Otherwise the message is in the inbox, as always.
local takes_start = 2

-- What the bundle reads of its job: each one writes it up to the last field that it asks for.
local asked = {"rev", "status", "semaphore", "head"}

-- Its words, after the shape: rev and head before, what it did; then lists whose lengths the shape gives: fields to
-- remove; ledgers that exist, what they must hold, what is added to them; rev, bundle and head; new ledgers with their
-- values; other fields with their values; the tokens that must hold the work that ends ("": any); work that it puts and
-- holds (place, words, input); the step of the semaphore; the run and all other writes; why it must be refused. The
-- places of the work that ends are before the operations, in their order; so are the keys.
local function step(shape)
  local rev_at = taken_args
  local dropped_at = rev_at + 3
  local moved_at = dropped_at + shape.dropped
  local befores_at = moved_at + shape.moved
  local deltas_at = befores_at + shape.moved
  local head_at = deltas_at + shape.moved
  local made_at = head_at + 3
  local set_at = made_at + 2 * shape.made
  local tokens_at = set_at + shape.set
  local hands_at = tokens_at + shape.ended
  local ended_at, key_at = places_at, step_keys_at
  taken_args = hands_at + shape.hands
  places_at, step_keys_at = places_at + shape.ended, step_keys_at + keys_of_step
  local delta, threshold, hit, message, weight = "0", "", "0", "", ""
  if shape.steps == 1 then delta, threshold, hit, message, weight = take(), take(), take(), take(), take() end
  local of = nil
  local odd_writes = nil
  local hash = KEYS[key_at + 1]
  if shape.odd > 0 then
    flush()
    of = {run = take(), hash = hash}
    local first = runs[of.run]
    if first then of.inbox, of.pending = KEYS[first + 3], KEYS[first + 4] end
    odd_writes = load_rest().take_writes(shape.odd)
  end
  local wrong, wrong_step = "", ""
  if shape.flaws == 1 then wrong, wrong_step = take(), take() end

  -- The first step of the job that the submit right before made. Another job may have got its number.
  if shape.first > 0 and behind ~= hash then return answer("not_behind") end
  if not owns(shape.epoch) then return fenced() end
  local count = words_of_row
  for i = dropped_at + 1, befores_at do
    count = count + 1
    asked[count] = ARGV[i]
  end
  for i = made_at + 1, set_at, 2 do
    count = count + 1
    asked[count] = ARGV[i]
  end
  local row = read_fields(hash, asked, count)
  if not row[1] then return answer("no_job") end
  local rev_before, rev, head_before = ARGV[rev_at + 1], ARGV[head_at + 1], ARGV[rev_at + 2]
  local status, was = shape.status, row[2]
  if row[1] ~= rev_before then return check_rev(hash, row[1], rev_before, rev, ARGV[head_at + 2]) end
  if not was then return rejected("a job's bundle for a mailbox") end

  -- Others may claim an item between two bundles, so a changed token is a race and not a mistake. A bundle may claim
  -- the work it puts; its engine may not know yet that the topic is paused.
  local ending = nil
  for i = 1, shape.ended do
    local place, token = ARGV[ended_at + i], ARGV[tokens_at + i]
    local words = find_item(place)
    if token ~= "" and (not words or token_in(words) ~= token) then return stale(place) end
    ending = ending or {}
    ending[i] = words
  end
  if odd_writes then
    local refusal = rest.check_changes(odd_writes)
    if refusal then return refusal end
  end
  for i = 1, #shape.topics do
    if is_paused(shape.topics[i]) then return conflict("a topic of its work is paused") end
  end

  local semaphore = shape.semaphore
  if was ~= status and closed[was] then return rejected("a " .. was .. " job would become " .. status) end
  if semaphore then
    if row[3] ~= semaphore then return rejected("semaphore is " .. row[3] .. ", expected " .. semaphore) end
    if wrong_step ~= "" then return rejected(wrong_step) end
    if shape.steps == 1 and (tonumber(semaphore) + tonumber(delta) == tonumber(threshold)) ~= (hit == "1") then return answer("other_hit") end
  end
  local refusal = row[4] ~= head_before and check_completions(row[4], head_before) or
                  check_fields(row, words_of_row + shape.dropped, moved_at, befores_at, shape.moved, made_at, shape.made)
  if refusal then return refusal end
  if wrong ~= "" then return rejected(wrong) end
  refusal = row[4] ~= head_before and check_next(row[4], head_before) or odd_writes and rest.check_redeliveries(of, odd_writes)
  if refusal then return refusal end

  if shape.first == takes_start then kept_start = nil end
  for i = 1, shape.moved do call("HINCRBY", hash, ARGV[moved_at + i], ARGV[deltas_at + i]) end
  local last = math.min(tokens_at, made_at + unpacked_max)
  call("HSET", hash, "rev", rev, "bundle", ARGV[head_at + 2], "head", ARGV[head_at + 3], unpack(ARGV, made_at + 1, last))
  if last < tokens_at then call_in_steps("HSET", hash, last, tokens_at) end
  if has_fields(row, shape.dropped) then call_in_steps("HDEL", hash, dropped_at, moved_at) end
  if shape.steps == 1 then step_semaphore_and_snapshot(hash, semaphore, delta, threshold, message, weight) end
  if was ~= status then
    call("HSET", hash, "status", status)
    load_rest().jobs.move(string.match(hash, "%d+$"), was, status)
  end
  write_history(KEYS[key_at + 2], rev, ARGV[rev_at + 3])
  for i = 1, shape.ended do
    if ending[i] then drop_work(ARGV[ended_at + i], ending[i]) end
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
