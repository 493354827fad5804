-- The owner of the lane.
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
