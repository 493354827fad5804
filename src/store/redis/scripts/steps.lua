-- Bundles of jobs: the guards in their order, then the writes. These are nearly all operations of a lane, so arguments
-- are read in place, and what many bundles write into the lane's own keys is written once for all of them (`flush`).

-- Work that is in no queue: the lane's owner claims it in the bundle that puts it. If it is the only one of its job, it is
-- in the job's hash, in the field `w`: "<number> <activity> <token> <where> <words>", and behind a line end its input, if
-- it is short (where "-"), or the input is in `w:in` ("i"); and `places` has "<run>.", so it can be found. Otherwise it is
-- in `items` and `places`, as all other work is.
-- These lists are reused: the numbers say how many of their words count.
local item_sets, item_drops, place_adds, place_drops = {}, {}, {}, {}
local set_words, drop_words, adds, drops
-- The same for jobs: members of the list of jobs, names and their runs, and the last run.
local job_adds, job_drops, name_sets = {}, {}, {}
local new_jobs, moved_jobs, name_words, new_names, next_last_run
local handed   -- members of sets that are in these lists, and were not there before
local touched  -- jobs, as "<run>.", whose places are in these lists
-- Of bundles: what those of the same shape have in common, as words. Most of a group have one or two, and the next
-- groups have the same ones.
local shapes, shapes_known = {}, 0
local shapes_max = 256

local function begin_call()
  set_words, drop_words, adds, drops, handed, touched = 0, 0, 0, 0, {}, {}
  new_jobs, moved_jobs, name_words, new_names, next_last_run = 0, 0, 0, {}, nil
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
    set_words, adds = 0, 0
  end
  if moved_jobs > 0 then in_steps("ZREM", key.jobs, job_drops, moved_jobs) end
  if new_jobs > 0 then in_steps("ZADD", key.jobs, job_adds, new_jobs) end
  moved_jobs, new_jobs, handed, touched = 0, 0, {}, {}
  if name_words > 0 then
    in_steps("HSET", key.ids, name_sets, name_words)
    name_words, new_names = 0, {}
  end
  if next_last_run then
    call("SET", key.runs, next_last_run)
    next_last_run = nil
  end
end

local function list_job(member)
  job_adds[new_jobs + 1], job_adds[new_jobs + 2] = "0", member
  new_jobs = new_jobs + 2
  handed[member] = true
end
local function unlist_job(member)
  if handed[member] then flush() end
  moved_jobs = moved_jobs + 1
  job_drops[moved_jobs] = member
end
local function name_run(name, run)
  name_sets[name_words + 1], name_sets[name_words + 2] = name, run
  name_words = name_words + 2
  new_names[name] = run
end
local function run_named(name) return new_names[name] end
local function count_run(run) next_last_run = run end

local function find_item(place)
  if handed[place] then flush() end
  local known = items_read[place]
  if known ~= nil then return known end
  return call("HGET", key.items, place)
end

-- Several items of one job: a call reads them all. `marker`: "<run>.".
local function find_items(marker, places, count)
  if count == 1 then return {find_item(places[1])} end
  if touched[marker] then flush() end
  local found = {}
  for first = 1, count, unpacked_max do
    local last = math.min(first + unpacked_max - 1, count)
    local stored = call("HMGET", key.items, unpack(places, first, last))
    for i = first, last do found[i] = stored[i - first + 1] end
  end
  return found
end

-- After its number and its place in order, which have a fixed width: "-": it cannot be claimed, "0": it has no wake-up
-- time.
local function is_in_no_line(words) return string.sub(words, 28, 32) == " - 0 " end

-- Behind its topic.
local function token_in(words)
  if is_in_no_line(words) then return string.match(words, "^%S+ (%S+)", 33) end
  return string.match(words, "^%S+ %S+ %S+ %S+ %S+ (%S+)")
end

-- "<run>." of the job that has this hash, as wide as in `places`.
local width_of_marker = 21
local function marker_of(hash)
  local run = string.match(hash, "%d+$")
  return string.rep("0", 20 - #run) .. run .. "."
end
local function place_behind(marker, activity) return marker .. string.rep("0", 10 - #activity) .. activity end
local function place_of(hash, activity) return place_behind(marker_of(hash), activity) end

-- `words`: as in `w`, without the number.
local function hand_work(hash, words, input)
  local activity, others, short = string.match(words, "^(%S+) %S+ %S ([^\n]*)\n?(.*)$")
  if short ~= "" then input = short end
  local place = place_of(hash, activity)
  item_sets[set_words + 1], item_sets[set_words + 2] = place, next_place() .. " " .. others
  set_words = set_words + 2
  if input ~= "" then
    item_sets[set_words + 1], item_sets[set_words + 2] = place .. ":input", input
    set_words = set_words + 2
  end
  place_adds[adds + 1], place_adds[adds + 2] = "0", place
  adds = adds + 2
  handed[place], touched[string.sub(place, 1, width_of_marker)] = true, true
  if items_read[place] ~= nil then items_read[place] = nil end
end

local function mark(hash)
  local marker = marker_of(hash)
  place_adds[adds + 1], place_adds[adds + 2] = "0", marker
  adds = adds + 2
  handed[marker], touched[marker] = true, true
end
local function unmark(hash)
  local marker = marker_of(hash)
  if handed[marker] then flush() end
  drops = drops + 1
  place_drops[drops], touched[marker] = marker, true
end

local width_of_number = 16
-- Whether the work in the job's hash is this one: "<activity> <token> ", or "<activity> " for any token.
local function is_in_hand(words, expected)
  return words and string.sub(words, width_of_number + 2, width_of_number + 1 + #expected) == expected
end
local function has_input_in_hand(words) return string.match(words, "^%S+ %S+ %S+ (%S)") == "i" end

-- Whether a job has no more items than these.
local function has_only(hash, count)
  local marker = marker_of(hash)
  if touched[marker] then flush() end
  return #call("ZRANGE", key.places, "(" .. marker, "(" .. string.sub(marker, 1, 20) .. "/", "BYLEX", "LIMIT", 0, count + 1) <= count
end

-- Moves it from the job's hash to where all other work is. That changes where it is and not what it is, so it may be done
-- before an operation's last check. A damaged one stays where it is: who reads its job is told.
local function lay_down(hash)
  local words = call("HGET", hash, "w")
  local number, activity, where, others, input = string.match(words or "", "^(%d+) (%d+) %d+ (%S) ([^\n]*)\n?(.*)$")
  if not number then return false end
  flush()
  local place = place_of(hash, activity)
  call("HSET", key.items, place, number .. " " .. others)
  if where == "i" then input = call("HGET", hash, "w:in") end
  if input ~= "" then call("HSET", key.items, place .. ":input", input) end
  call("ZADD", key.places, 0, place)
  call("ZREM", key.places, marker_of(hash))
  call("HDEL", hash, "w", "w:in")
  items_read[place] = nil
  return true
end

local function drop_work(place, words)
  if not is_in_no_line(words) then
    flush()
    return load_rest().work.drop(place)
  end
  local n = drop_words
  item_drops[n + 1], item_drops[n + 2], item_drops[n + 3] = place, place .. ":input", place .. ":progress"
  drop_words, drops = n + 3, drops + 1
  place_drops[drops], touched[string.sub(place, 1, width_of_marker)] = place, true
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
-- adds the digit to the ledger of the message that made the step, and answers what the semaphore is now.
local function step_semaphore_and_snapshot(hash, stored, delta, threshold, message, weight)
  if delta ~= "0" then stored = text(call("HINCRBY", hash, "semaphore", delta)) end
  local hit = stored == threshold
  if message ~= "" and hit then call("HINCRBY", hash, message, weight) end
  return stored
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
local words_of_row = 5
local function wrong_field(field, expected, stored) return answer("wrong_field", "", field, expected, stored or "") end
local function check_fields(row, at, moved_at, befores, moved, made_at, made)
  for i = 1, moved do
    if row[at + i] ~= befores[i] then return wrong_field(ARGV[moved_at + i], befores[i], row[at + i]) end
  end
  at = at + moved
  for i = 1, made do
    if row[at + i] then return wrong_field(ARGV[made_at + i], "", row[at + i]) end
  end
end

-- Whether one of the fields to remove exists.
local function has_fields(row, count)
  for i = 1, count do
    if row[words_of_row + i] then return true end
  end
end

-- What the bundle reads of its job: fields that all need, and those that it names, behind `at` until `last`.
local function read_row(hash, at, last)
  if last - at <= unpacked_max then
    return call("HMGET", hash, "rev", "status", "semaphore", "head", "w", unpack(ARGV, at + 1, last))
  end
  local row = call("HMGET", hash, "rev", "status", "semaphore", "head", "w")
  for first = at + 1, last, unpacked_max do
    local until_here = math.min(first + unpacked_max - 1, last)
    local stored = call("HMGET", hash, unpack(ARGV, first, until_here))
    for i = first, until_here do row[words_of_row + i - at] = stored[i - first + 1] end
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

-- "job", the epoch, the status and the semaphore before ("-": unchanged), numbers; of each ledger that exists what it must
-- hold and what is added; the values of new ledgers; the topics of the work that it claims.
local numbers_of_shape = {"dropped", "moved", "made", "set", "ended", "hands", "inputs", "odd", "steps", "closes", "flaws", "first"}
local shape_bytes_max = 1000  -- of one that is kept
local function shape_of(words)
  local list = {}
  for word in string.gmatch(words, "%S+") do list[#list + 1] = word end
  local shape = {epoch = list[2], status = list[3], semaphore = list[4] ~= "-" and list[4]}
  local at = 4
  for i, name in ipairs(numbers_of_shape) do shape[name] = tonumber(list[at + i]) end
  at = at + #numbers_of_shape
  shape.befores, shape.deltas, shape.values, shape.topics = {}, {}, {}, {}
  for i = 1, shape.moved do shape.befores[i], shape.deltas[i] = list[at + 2 * i - 1], list[at + 2 * i] end
  at = at + 2 * shape.moved
  for i = 1, shape.made do shape.values[i] = list[at + i] end
  at = at + shape.made
  for i = at + 1, #list do shape.topics[i - at] = list[i] end
  if #words <= shape_bytes_max then
    if shapes_known >= shapes_max then shapes, shapes_known = {}, 0 end
    shapes[words], shapes_known = shape, shapes_known + 1
  end
  return shape
end

-- What a submit has just made: no work, and no ledgers.
local row_of_new = {"0", "running", "1", "0 0"}

-- Of a first step: its submit left the start message to it. Otherwise the message is in the inbox, as always.
local takes_start = 2

-- The fields that it sets, for all bundles but the usual ones.
local function set_fields(hash, shape, made_at, set_at, last, fixed)
  local fields, count = fixed, #fixed
  for i = 1, shape.made do
    fields[count + 1], fields[count + 2] = ARGV[made_at + i], shape.values[i]
    count = count + 2
  end
  for i = set_at + 1, last do
    count = count + 1
    fields[count] = ARGV[i]
  end
  in_steps("HSET", hash, fields, count)
end

-- Its words, after the shape: rev and head before, what it did; then lists whose lengths the shape gives: fields to
-- remove; ledgers that exist; new ledgers; rev, bundle and head; other fields with their values; the work that ends
-- ("<activity> <token> ", or "<activity> " with any token); work that it puts and holds (words behind the number; if one
-- has a long input, each has its input too); the step of the semaphore; when a closed job is removed; the run and all
-- other writes; why it must be refused. The keys are in the order of the operations.
local function step(shape)
  local rev_at = taken_args
  local dropped_at = rev_at + 3
  local moved_at = dropped_at + shape.dropped
  local made_at = moved_at + shape.moved
  local head_at = made_at + shape.made
  local set_at = head_at + 3
  local tokens_at = set_at + shape.set
  local hands_at = tokens_at + shape.ended
  local words_of_hand = 1 + shape.inputs
  local key_at = step_keys_at
  taken_args = hands_at + words_of_hand * shape.hands
  step_keys_at = key_at + keys_of_step
  local delta, threshold, hit, message, weight = "0", "", "0", "", ""
  if shape.steps == 1 then delta, threshold, hit, message, weight = take(), take(), take(), take(), take() end
  local remove_at = shape.closes == 1 and take()
  local of = nil
  local odd_writes, moves_work = nil, false
  local hash = KEYS[key_at + 1]
  if shape.odd > 0 then
    flush()
    of = {run = take(), hash = hash}
    local first = runs[of.run]
    if first then of.inbox, of.pending = KEYS[first + 3], KEYS[first + 4] end
    odd_writes, moves_work = load_rest().take_writes(shape.odd)
  end
  local wrong, wrong_step = "", ""
  if shape.flaws == 1 then wrong, wrong_step = take(), take() end

  -- The first step of the job that the submit right before made. Another job may have got its number.
  if shape.first > 0 and behind ~= hash then return answer("not_behind") end
  if not owns(shape.epoch) then return fenced() end
  local row = shape.first > 0 and row_of_new or read_row(hash, dropped_at, head_at)
  if not row[1] then return answer("no_job") end
  local rev_before, rev, head_before = ARGV[rev_at + 1], ARGV[head_at + 1], ARGV[rev_at + 2]
  local status, was = shape.status, row[2]
  if row[1] ~= rev_before then return check_rev(hash, row[1], rev_before, rev, ARGV[head_at + 2]) end
  if not was then return rejected("a job's bundle for a mailbox") end
  local in_hand = row[5]
  if in_hand and moves_work then
    lay_down(hash)
    in_hand = nil
  end

  -- Others may claim an item between two bundles, so a changed token is a race and not a mistake. A bundle may claim
  -- the work it puts; its engine may not know yet that the topic is paused.
  local freed, ending, endings = false, nil, 0
  local places, tokens_of, marker, looked = nil, nil, nil, 0
  for i = tokens_at + 1, tokens_at + shape.ended do
    if is_in_hand(in_hand, ARGV[i]) then
      freed = true
    else
      if not places then places, tokens_of, marker = {}, {}, marker_of(hash) end
      local activity, token = string.match(ARGV[i], "^(%d+) (%d*)")
      looked = looked + 1
      places[looked], tokens_of[looked] = place_behind(marker, activity), token
    end
  end
  if places then
    ending = {}
    local found = find_items(marker, places, looked)
    for i = 1, looked do
      local words, token = found[i], tokens_of[i]
      if token ~= "" and (not words or token_in(words) ~= token) then return stale(places[i]) end
      if words then
        ending[endings + 1], ending[endings + 2] = places[i], words
        endings = endings + 2
      end
    end
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
                  check_fields(row, words_of_row + shape.dropped, moved_at, shape.befores, shape.moved, made_at, shape.made)
  if refusal then return refusal end
  if wrong ~= "" then return rejected(wrong) end
  refusal = row[4] ~= head_before and check_next(row[4], head_before) or odd_writes and rest.check_redeliveries(of, odd_writes)
  if refusal then return refusal end

  -- Whether the work that it puts is the only one of its job, and so goes into its hash.
  local alone = shape.hands == 1 and not moves_work and
                (freed or not in_hand and (shape.first > 0 or has_only(hash, endings / 2)))

  if shape.first == takes_start then kept_start = nil end
  for i = 1, shape.moved do call("HINCRBY", hash, ARGV[moved_at + i], shape.deltas[i]) end
  local hands, held, input = shape.hands, nil, ""
  if alone then
    hands, held = 0, next_place() .. " " .. ARGV[hands_at + 1]
    if words_of_hand == 2 then input = ARGV[hands_at + 2] end
  end
  local id, head = ARGV[head_at + 2], ARGV[head_at + 3]
  if held and shape.made == 2 and shape.set <= unpacked_max then  -- nearly always
    local values = shape.values
    if input == "" then
      call("HSET", hash, "rev", rev, "bundle", id, "head", head, "w", held, ARGV[made_at + 1], values[1],
           ARGV[made_at + 2], values[2], unpack(ARGV, set_at + 1, tokens_at))
    else
      call("HSET", hash, "rev", rev, "bundle", id, "head", head, "w", held, "w:in", input, ARGV[made_at + 1], values[1],
           ARGV[made_at + 2], values[2], unpack(ARGV, set_at + 1, tokens_at))
    end
  else
    local fixed = {"rev", rev, "bundle", id, "head", head}
    if held then fixed[7], fixed[8] = "w", held end
    if input ~= "" then fixed[9], fixed[10] = "w:in", input end
    set_fields(hash, shape, made_at, set_at, tokens_at, fixed)
  end
  if has_fields(row, shape.dropped) then call_in_steps("HDEL", hash, dropped_at, moved_at) end
  local left = row[3]
  if shape.steps == 1 then left = step_semaphore_and_snapshot(hash, semaphore, delta, threshold, message, weight) end
  if was ~= status then
    if not remove_at then call("HSET", hash, "status", status) end  -- else it is one of the fields that are set
    load_rest().jobs.move(string.match(hash, "%d+$"), was, status)
  end
  if remove_at then
    if left ~= "0" then call("HSET", hash, "semaphore", "0") end
    if remove_at ~= "0" or closed[was] then load_rest().jobs.remove_at(string.match(hash, "%d+$"), remove_at) end
  end
  write_history(KEYS[key_at + 2], rev, ARGV[rev_at + 3])
  if freed then
    if not held then
      call("HDEL", hash, "w", "w:in")
      unmark(hash)
    elseif input == "" and has_input_in_hand(in_hand) then
      call("HDEL", hash, "w:in")
    end
  elseif held then
    mark(hash)
  elseif hands > 0 and in_hand then
    lay_down(hash)
  end
  for i = 1, endings, 2 do drop_work(ending[i], ending[i + 1]) end
  for i = 1, hands do
    local at = hands_at + (i - 1) * words_of_hand
    hand_work(hash, ARGV[at + 1], words_of_hand == 2 and ARGV[at + 2] or "")
  end
  if odd_writes then
    flush()
    rest.apply_writes(of, odd_writes)
    rest.inbox.note(of, "job")
  end
  return "committed"
end
