-- The group itself.
-- Another store, or an older state of this one: a caller that saw a later state must not continue.
if lane.store ~= "" and lane.store ~= store_id then return {"another_store", lane.store} end
if tonumber(lane.commits) < tonumber(seen_commits) then return {"older_state", lane.commits} end

local outcomes = {}
local wanted = {}
local function apply_group()
  for i = 1, tonumber(take()) do
    local name = take()
    if name ~= "job" then
      flush()
      load_rest()
    end
    outcomes[i] = operations[name]()
  end
end
local went_well, problem = pcall(apply_group)
if not went_well then
  if type(problem) ~= "table" or not problem.wanted then error(problem) end
  wanted = problem.wanted
end

flush()
local commits = text(tonumber(lane.commits) + 1)
call("HSET", key.lane, "commits", commits, unpack(placed and {"place", text(lane.place)} or {}))
if lane.store == "" then call("HSET", key.lane, "store", store_id) end

-- One notification for the group: the sender, the lane, what changed.
local rung = {}
for flag in pairs(rung_flags) do rung[#rung + 1] = flag end
local flags = table.concat(rung)
rung = {}
for run in pairs(rung_runs) do rung[#rung + 1] = run end
if bell ~= "" and (#rung > 0 or flags ~= "") then
  call("PUBLISH", bell, sender .. " " .. lane_number .. " -" .. flags .. " " .. table.concat(rung, " "))
end
return {"ok", commits, outcomes, wanted, text(now)}
