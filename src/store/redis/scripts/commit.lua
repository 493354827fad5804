-- The group itself.
local outcomes
local function apply_group()
  for i = 1, tonumber(take()) do
    local name = take()
    local shape = shapes[name] or string.sub(name, 1, 4) == "job " and shape_of(name)
    behind, made = made, nil
    -- Its first step did not come: the store refused it before.
    if kept_start and not (shape and shape.first == takes_start) then rest.jobs.put_start() end
    if shape then
      outcomes[i] = step(shape)
    else
      if name ~= "submit" then flush() end  -- it looks at nothing that waits to be written
      load_rest()
      outcomes[i] = operations[name]()
    end
    if kept_start and not made then rest.jobs.put_start() end  -- its first step was refused
  end
end

-- One notification for the group: the sender, the lane, what changed.
local function notify()
  if bell == "" then return end
  local names, flags = {}, {}
  for flag in pairs(rung_flags) do flags[#flags + 1] = flag end
  for run in pairs(rung_runs) do names[#names + 1] = run end
  if #names == 0 and #flags == 0 then return end
  call("PUBLISH", bell, sender .. " " .. lane_number .. " -" .. table.concat(flags) .. " " .. table.concat(names, " "))
end

local function commit(keys, arguments)
  call, KEYS, ARGV = redis.call, keys, arguments
  begin_call()
  begin_lane()
  -- Another store, or an older state of this one: a caller that saw a later state must not continue.
  if lane.store ~= "" and lane.store ~= store_id then return {"another_store", lane.store} end
  if tonumber(lane.commits) < tonumber(seen_commits) then return {"older_state", lane.commits} end

  outcomes = {}
  local wanted = {}
  local went_well, problem = pcall(apply_group)
  -- What was applied is written also if a later operation fails: it is not rolled back.
  if kept_start then rest.jobs.put_start() end
  flush()
  local commits = text(tonumber(lane.commits) + 1)
  if placed then call("HSET", key.lane, "commits", commits, "place", text(lane.place))
  else call("HSET", key.lane, "commits", commits) end
  if lane.store == "" then call("HSET", key.lane, "store", store_id) end
  if not went_well then
    if type(problem) ~= "table" or not problem.wanted then error(problem) end
    wanted = problem.wanted
  end
  notify()
  return {"ok", commits, outcomes, wanted, text(now)}
end
