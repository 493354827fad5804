-- Work items, except one that its owner has in hand (steps.lua). `items` is a HASH: at "<run>.<activity>" the item as words, beside it its input and progress unchanged.
-- `places` is a ZSET of all of them in order. An item that may be claimed is in the ZSET `ready`, by topic, priority
-- and age; one that is hidden or leased in the ZSET `later`, scored by the time when it unlocks. What became due moves
-- to `ready`, so a lost worker's item is handed out again after its time without any other event.
--
-- The first words of an item give its position: its number in the queue, its priority (a larger one is a smaller
-- number), when it unlocks ("-": it is not handed out), when the engine must look at it ("0": never), its topic, its
-- token. So an item is removed from the queue without reading all of it.
local work = {}

local words_of_item = {"number", "order", "unlocks", "wake", "topic", "token", "request", "next_run", "next_token", "epoch",
                       "lease", "runs", "priority", "visible", "held", "plain", "worker", "queue_timeout", "attempt_timeout",
                       "heartbeat_timeout", "deadline", "at_most_once", "unknown", "queue_by", "attempt_by", "heartbeat_by",
                       "failures", "failure_code", "failure", "trace"}
local first_word_of_life = 18
local until_decided = "9223372036854775807"  -- for an item whose error waits for the job's decision
local due_per_claim = 1000

local function split(words)
  local list = {}
  for word in string.gmatch(words, "%S+") do list[#list + 1] = word end
  return list
end

function work.parse(words)
  local item = {}
  for i, word in ipairs(split(words)) do item[words_of_item[i]] = word end
  return item
end
function work.words(item)
  local list = {}
  for i, name in ipairs(words_of_item) do list[i] = item[name] end
  return table.concat(list, " ")
end

function work.find(place)
  local words = call("HGET", key.items, place)
  return words and work.parse(words)
end

-- The same, of a run's item that may be in its owner's hand: then it is laid down first.
function work.find_of(run, place)
  local item = work.find(place)
  if not item and lay_down(keys_of(run).hash) then item = work.find(place) end
  return item
end

-- Only its position and its token.
function work.find_place(place)
  local words = call("HGET", key.items, place)
  if not words then return nil end
  local number, order, unlocks, wake, topic, token = string.match(words, "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)")
  return {number = number, order = order, unlocks = unlocks, wake = wake, topic = topic, token = token}
end

local function member_of(place, item) return item.topic .. " " .. item.order .. " " .. item.number .. " " .. place end

-- core::wake_of: the first time at which the engine must look at the item; "0": never.
function work.wake(item)
  if item.held == "1" then return "0" end
  local wake = "0"
  local function look_at(time)
    if time ~= "0" and (wake == "0" or tonumber(time) < tonumber(wake)) then wake = time end
  end
  look_at(item.deadline)
  if item.unknown == "1" then return wake end
  if item.token == "0" then
    look_at(item.visible)
    look_at(item.queue_by)
  elseif item.epoch == "0" then
    look_at(item.attempt_by)
    look_at(item.heartbeat_by)
    if item.lease ~= until_decided then look_at(item.lease) end
  end
  return wake
end

-- Removes it from the queue; a due item may be in either set.
local function unlist(place, item)
  if item.wake ~= "0" then due.drop(due.work(place)) end
  if item.unlocks == "-" then return end
  call("ZREM", key.ready, member_of(place, item))
  if item.unlocks ~= "0" then call("ZREM", key.later, member_of(place, item)) end
end

local function list(place, item)
  if item.wake ~= "0" then due.put(item.wake, due.work(place)) end
  if item.unlocks == "0" then call("ZADD", key.ready, 0, member_of(place, item))
  elseif item.unlocks ~= "-" then call("ZADD", key.later, item.unlocks, member_of(place, item)) end
end

local function later_of(a, b) return tonumber(a) > tonumber(b) and a or b end

local function unlocks_at(item)
  if item.held == "1" then return "-" end
  if item.token == "0" then return item.visible end
  if item.epoch == "0" and item.at_most_once == "0" then return later_of(item.lease, item.visible) end
  return "-"  -- its owner or its job handles it
end

-- Stores an existing item, and moves it to its new position.
function work.change(place, item)
  unlist(place, item)
  item.unlocks, item.wake = unlocks_at(item), work.wake(item)
  items_read[place] = nil
  call("HSET", key.items, place, work.words(item))
  list(place, item)
end

local function set_payload(field, payload)
  if payload == "" then call("HDEL", key.items, field) else call("HSET", key.items, field, payload) end
end

-- A new item, or one that replaces another and keeps its number in the queue. Claimable items are stored first. `item`
-- has the words of its position; `rest`: all words except the number.
function work.put(place, item, rest, input, progress)
  local known = work.find_place(place)
  if known then
    unlist(place, known)
    item.number = known.number
    call("HDEL", key.items, place .. ":input", place .. ":progress")
  else
    item.number = next_place()
    call("ZADD", key.places, 0, place)
  end
  local fields = {place, item.number .. " " .. rest}
  if input ~= "" then fields[3], fields[4] = place .. ":input", input end
  if progress ~= "" then fields[#fields + 1], fields[#fields + 2] = place .. ":progress", progress end
  items_read[place] = nil
  call("HSET", key.items, unpack(fields))
  list(place, item)
end

function work.drop(place)
  local known = work.find_place(place)
  if not known then return end
  unlist(place, known)
  call("ZREM", key.places, place)
  items_read[place] = nil
  call("HDEL", key.items, place, place .. ":input", place .. ":progress")
end

function work.places_of(of)
  local first = wide(of.run)
  local function places() return call("ZRANGE", key.places, "[" .. first .. ".", "(" .. first .. "/", "BYLEX") end
  local list = places()
  if list[1] ~= first .. "." then return list end
  if lay_down(of.hash) then return places() end
  table.remove(list, 1)
  return list
end

-- An item in the form of an answer.
function work.shown(place, item)
  local payloads = call("HMGET", key.items, place .. ":input", place .. ":progress")
  return {place, work.words(item), payloads[1] or "", payloads[2] or ""}
end

local function moment(from, duration)
  if duration == "0" then return "0" end
  return text(from + tonumber(duration))
end

-- The token of its next attempt. It is a hash of the request that is not computed here: the caller stored the first one
-- with the item, and is asked for any other.
local function next_token(place, item, epoch)
  local run = text(tonumber(item.runs) + 1)
  if epoch == "0" and item.next_run == run then return item.next_token end
  return tokens[place .. " " .. run .. " " .. epoch]
end
local words_wanted_max = 4000
local function want_tokens(places, items, epoch)
  local wanted = {}
  for i, item in ipairs(items) do
    if #wanted < words_wanted_max and not next_token(places[i], item, epoch) then
      for _, word in ipairs({places[i], item.request, text(tonumber(item.runs) + 1), epoch}) do wanted[#wanted + 1] = word end
    end
  end
  if #wanted > 0 then wants("tokens", unpack(wanted)) end
end

-- core::begin_run
local function begin_run(place, item, worker, epoch, lease)
  local is_local = epoch ~= "0"
  local was_lost = item.token ~= "0"
  item.token = next_token(place, item, epoch)
  item.runs = text(tonumber(item.runs) + 1)
  item.worker, item.epoch, item.lease, item.visible, item.unknown = worker, epoch, lease, "0", "0"
  item.attempt_by = is_local and "0" or moment(now, item.attempt_timeout)
  item.heartbeat_by = is_local and "0" or moment(now, item.heartbeat_timeout)
  if not is_local then item.queue_by = "0"
  elseif was_lost then item.queue_by = moment(now, item.queue_timeout) end
end

-- core::release
local function release(item, began)
  local is_local = item.epoch ~= "0"
  if is_local and item.runs ~= "0" then item.runs = text(tonumber(item.runs) - 1) end
  item.token, item.worker, item.epoch, item.lease = "0", "%", "0", "0"
  item.attempt_by, item.heartbeat_by = "0", "0"
  if not is_local or began then item.queue_by = moment(math.max(now, tonumber(item.visible)), item.queue_timeout) end
end

-- core::apply_change
function work.apply_change(item, change)
  item.visible = change.visible
  item.trace = nil  -- only if there is one
  for i, word in ipairs(split(change.life)) do item[words_of_item[first_word_of_life - 1 + i]] = word end
  if change.release == "1" then item.token, item.worker, item.epoch, item.lease = "0", "%", "0", "0" end
end

local function is_held_by(item, token) return item and token ~= "0" and item.token == token end


-- What became due is in the queue with the others again.
local function ready_what_is_due()
  for _, member in ipairs(call("ZRANGE", key.later, "-inf", text(now), "BYSCORE", "LIMIT", 0, due_per_claim)) do
    call("ZREM", key.later, member)
    call("ZADD", key.ready, 0, member)
  end
end

-- The first items of these topics: by priority, then by age.
local function first_in_line(topics, items_max)
  local seen, members = {}, {}
  for _, topic in ipairs(topics) do
    if not seen[topic] and not is_paused(topic) then
      local found = call("ZRANGE", key.ready, "[" .. topic .. " ", "(" .. topic .. "!", "BYLEX", "LIMIT", 0, items_max)
      for _, member in ipairs(found) do members[#members + 1] = string.sub(member, #topic + 2) end
    end
    seen[topic] = true
  end
  table.sort(members)
  local places = {}
  for i = 1, math.min(items_max, #members) do places[i] = string.match(members[i], "%S+$") end
  return places
end

function operations.claim_work()
  local items_max, worker, lease = tonumber(take()), take(), tonumber(take())
  local topics = take_list(tonumber(take()))
  ready_what_is_due()
  local places, items = first_in_line(topics, items_max), {}
  for i, place in ipairs(places) do items[i] = work.find(place) end
  want_tokens(places, items, "0")
  local outcome = committed()
  for i, place in ipairs(places) do
    local item = items[i]
    begin_run(place, item, worker, "0", text(now + lease))
    work.change(place, item)
    outcome[#outcome + 1] = work.shown(place, item)
    ring(string.match(place, "^0*(%d+)%."))
  end
  return outcome
end

function operations.claim_item()
  local run, place, before, worker, epoch = take(), take(), take(), take(), take()
  if not owns(epoch) then return fenced() end
  local item = work.find_of(run, place)
  if not item or item.token ~= before then return stale(place) end
  if item.held == "1" then return conflict("the job is paused or parked") end
  if is_paused(item.topic) then return conflict("its topic is paused") end
  want_tokens({place}, {item}, epoch)
  begin_run(place, item, worker, epoch, "0")
  work.change(place, item)
  ring(run)
  return committed(work.shown(place, item))
end

function operations.extend_work()
  local run, place, token, lease = take(), take(), take(), take()
  local has_progress, progress, detach, attempt_left = take(), take(), take(), take()
  local item = work.find_of(run, place)
  if not is_held_by(item, token) or item.lease == until_decided then return stale(place) end
  local detaches = detach == "1" and item.epoch ~= "0"
  if detach == "1" then item.epoch = "0" end
  if has_progress == "1" then set_payload(place .. ":progress", progress) end
  if item.epoch == "0" then  -- else its process keeps its clocks
    item.lease = text(now + tonumber(lease))
    if item.heartbeat_timeout ~= "0" then item.heartbeat_by = moment(now, item.heartbeat_timeout) end
    if detaches and item.attempt_timeout ~= "0" then
      item.attempt_by = text(now + tonumber(attempt_left == "" and item.attempt_timeout or attempt_left))
    end
  end
  work.change(place, item)
  ring(run)
  return committed(work.shown(place, item))
end

function operations.release_work()
  local run, place, token, epoch, began = take(), take(), take(), take(), take()
  if epoch ~= "0" and not owns(epoch) then return fenced() end
  local item = work.find_of(run, place)
  local may = is_held_by(item, token) and (item.epoch == "0") == (epoch == "0") and item.lease ~= until_decided
  if not may then return stale(place) end
  release(item, began == "1")
  work.change(place, item)
  ring(run)
  ring_flag("w")
  return committed()
end

function operations.respond()
  local run, place, token, status, guid, kind, body = take(), take(), take(), take(), take(), take(), take()
  local of = keys_of(run)
  local job_status = call("HGET", of.hash, "status")
  if not job_status then return stale(place) end
  local item = work.find_of(run, place)
  -- A repeated reply: the answer to the first one was lost. Its item was removed with it, or waits for the job's
  -- decision.
  local answered = not item or item.lease == until_decided
  if answered and inbox.has(of, guid) then return already_done() end
  if answered or not is_held_by(item, token) then return stale(place) end
  if status == "success" then
    work.drop(place)
  elseif status == "error" then
    item.epoch, item.lease = "0", until_decided
    work.change(place, item)
  end
  ring(run)
  return inbox.insert(of, job_status, guid, kind, body)
end

function operations.pause_topic()
  local topic, to_pause, topics_max = take(), take(), tonumber(take())
  if (is_paused(topic) or false) == (to_pause == "1") then return already_done() end
  if to_pause == "0" then
    call("SREM", key.paused, topic)
  else
    if call("SCARD", key.paused) >= topics_max then
      return rejected("at most " .. text(topics_max) .. " topics can be paused")
    end
    call("SADD", key.paused, topic)
  end
  paused = nil  -- read again
  ring_flag("t")
  return committed()
end
