-- Jobs as a whole: how they begin, and how they are removed. `ids` is a HASH from the name of a job to its run and, if
-- the job is gone, the time when the name is free again: "<run>" or "<run> <time>". `jobs` is a ZSET of all runs by
-- their status.
local jobs = {}

local function holder_of(name)
  local value = run_named(name) or call("HGET", key.ids, name)
  if not value then return nil end
  local run, expires = string.match(value, "^(%d+) ?(%d*)$")
  return {run = run, expires = expires}
end
jobs.holder_of = holder_of

local function member(status, run) return status_digit[status] .. wide(run) end
function jobs.move(run, from, to)
  unlist_job(member(from, run))
  list_job(member(to, run))
end

-- Of a closed job; "0": it is kept.
function jobs.remove_at(run, at)
  if at ~= "0" then due.put(at, due.removal(run)) else due.drop(due.removal(run)) end
end

-- store::is_taken
local function is_taken(reuse, open, over)
  if reuse == "never" then return not over end
  return reuse == "after_close" and open
end

-- The next run of this lane. Its keys must be declared: the caller guessed them, and guesses again if the guess was
-- wrong.
function jobs.next_run()
  last_run = last_run or call("GET", key.runs) or no_run
  local run = run_after[last_run]
  if not run then wants("fresh", last_run) end
  last_run = run
  count_run(run)
  return run, fresh[run]
end

-- The start key, the row and the first messages of a new job. `row`: the fields of its hash.
function jobs.begin(new)
  local name, row, start, deadline, replaced = new.name, new.row, new.start, new.deadline, new.replaced
  local holder = holder_of(name)
  if new.follows ~= "0" and not (holder and holder.run == new.follows) then
    return conflict("the run that it follows no longer has the id: it was removed, or another run goes on for it")
  end
  local open = nil
  if holder then
    local of = keys_of(holder.run)
    local status = call("HGET", of.hash, "status")
    local is_open = status and not closed[status]
    local over = holder.expires ~= "" and tonumber(holder.expires) <= now
    if is_taken(new.reuse, is_open, over) then return answer("exists", "", holder.run) end
    if is_open then open = {of = of, status = status} end
  end
  local run, names = jobs.next_run()
  local of = keys_of(run)
  call("HSET", of.hash, unpack(row))
  list_job(member("running", run))
  local outcome = committed(run, "0")
  if open then
    outcome[4] = open.of.run
    inbox.insert(open.of, open.status, names.replaced, replaced.kind, replaced.body)
  end
  if holder and holder.expires ~= "" then
    due.drop(due.key(holder.run))
    call("ZREM", key.expiring, wide(holder.run) .. name)
  end
  name_run(name, run)
  made = of.hash
  if deadline.at ~= "0" then inbox.put_first(of, names.deadline, deadline.kind, deadline.body, deadline.at) end
  kept_start = {of = of, guid = names.start, start = start}
  if not new.steps then jobs.put_start() end
  return outcome
end

-- The job's owner must see it.
function jobs.put_start()
  local of, guid, start = kept_start.of, kept_start.guid, kept_start.start
  kept_start = nil
  inbox.put_first(of, guid, start.kind, start.body, start.at)
  inbox.note(of, "job")
  ring(of.run)
end

-- The arguments of a new job, as Submit and a parent's StartChild have them.
function jobs.take_new()
  local new = {name = take(), reuse = take(), follows = take()}
  new.start = {kind = take(), body = take(), at = take()}
  new.deadline = {kind = take(), body = take(), at = take()}
  new.replaced = {kind = take(), body = take()}
  new.row = take_list(tonumber(take()))
  return new
end

-- The first argument: whether its first step is the next operation, and takes the start message.
function operations.submit()
  local steps = take() == "1"
  local new = jobs.take_new()
  new.steps = steps
  return jobs.begin(new)
end

local function drop_announcement(seq)
  call("XDEL", key.announcements, seq .. "-0")
  if call("XLEN", key.announcements) == 0 then call("DEL", key.announcements) end
end

function operations.remove_job()
  local run, key_until = take(), take()
  local of = keys_of(run)
  local row = call("HMGET", of.hash, "status", "head", "ns", "id", "graph", "duplex")
  local status = row[1]
  if not status then return already_done() end
  local completions = string.match(row[2], "^%d+")
  if not closed[status] or completions == "0" then return conflict("the job is not over yet") end
  local name = joined(row[3]) .. joined(row[4])
  local holder = holder_of(name)
  if holder and holder.run == run then
    if key_until == "0" then
      call("HDEL", key.ids, name)
    else
      call("HSET", key.ids, name, run .. " " .. key_until)
      due.put(key_until, due.key(run))
      call("ZADD", key.expiring, key_until, wide(run) .. name)
    end
  end
  due.drop(due.removal(run))
  inbox.drop_all_but(of, "")
  for _, place in ipairs(work.places_of(of)) do work.drop(place) end
  for _, field in ipairs(call("HKEYS", of.hash)) do
    local kind = string.sub(field, 1, 2)
    if kind == "l:" then labels.drop(of, {ns = row[3], graph = row[5]}, string.sub(field, 3))
    elseif kind == "n:" then drop_announcement(string.sub(field, 3)) end
  end
  call("ZREM", key.jobs, member(status, run))
  inbox.note(of, "job")
  call("DEL", of.hash, of.pending, of.history)
  ring_flag("d")
  return committed()
end

function operations.drop_keys()
  local up_to, rows_max = take(), tonumber(take())
  if rows_max > 0 then
    for _, row in ipairs(call("ZRANGE", key.expiring, "-inf", up_to, "BYSCORE", "LIMIT", 0, rows_max)) do
      local run = string.match(string.sub(row, 1, 20), "^0*(%d+)$")
      call("ZREM", key.expiring, row)
      call("HDEL", key.ids, string.sub(row, 21))
      due.drop(due.key(run))
    end
  end
  return committed()
end
