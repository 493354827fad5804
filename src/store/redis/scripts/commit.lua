-- Who has the lane, and the group itself.
function operations.acquire_lane()
  local owner, lease = take(), tonumber(take())
  local is_taken = lane.owner ~= "" and lane.owner ~= owner
  if is_taken and (lane.lease == "" or tonumber(lane.lease) > now) then return conflict(lane.owner .. " holds the lane") end
  call("HINCRBY", key.lane, "epoch", 1)
  lane.epoch = call("HGET", key.lane, "epoch")
  lane.owner = owner
  lane.lease = lease == 0 and "" or text(now + lease)  -- without a lease: held until it is given back
  call("HSET", key.lane, "owner", owner)
  if lane.lease == "" then call("HDEL", key.lane, "lease") else call("HSET", key.lane, "lease", lane.lease) end
  return committed(lane.epoch, lane.lease)
end

function operations.renew_lane()
  local epoch, lease = take(), tonumber(take())
  if not owns(epoch) then return fenced() end
  lane.lease = text(now + lease)
  call("HSET", key.lane, "lease", lane.lease)
  return committed(lane.lease)
end

function operations.release_lane()
  local epoch = take()
  if lane.epoch ~= epoch then return fenced() end
  if lane.owner == "" then return already_done() end
  lane.owner, lane.lease = "", ""
  call("HDEL", key.lane, "owner", "lease")
  ring_flag("l")
  return committed()
end

-- Another store, or an older state of this one: whoever saw a later state must not go on as if nothing had happened.
if lane.store ~= "" and lane.store ~= store_id then return {"another_store", lane.store} end
if tonumber(lane.commits) < tonumber(seen_commits) then return {"older_state", lane.commits} end

local outcomes = {}
local wanted = {}
local function apply_group()
  for _ = 1, tonumber(take()) do
    local outcome = operations[take()]()
    outcomes[#outcomes + 1] = outcome
  end
end
local went_well, problem = pcall(apply_group)
if not went_well then
  if type(problem) ~= "table" or not problem.wanted then error(problem) end
  wanted = problem.wanted
end

if lane.store == "" then call("HSET", key.lane, "store", store_id) end
local commits = text(call("HINCRBY", key.lane, "commits", 1))

-- One ring for the group: who rings, the lane, what changed.
local rung = {}
for flag in pairs(rung_flags) do rung[#rung + 1] = flag end
local flags = table.concat(rung)
rung = {}
for run in pairs(rung_runs) do rung[#rung + 1] = run end
if bell ~= "" and (#rung > 0 or flags ~= "") then
  call("PUBLISH", bell, sender .. " " .. lane_number .. " -" .. flags .. " " .. table.concat(rung, " "))
end
return {"ok", commits, outcomes, wanted, text(now)}
