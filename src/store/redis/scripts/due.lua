-- What is due at a time: one ZSET of the lane, scored by the time. The member has all other fields, so that rows of one
-- time are in the order of store::Due: run, kind, guid, activity. A message has no activity, and there are many of
-- them.
local due = {}
local no_guid = string.rep("0", 32)
local no_activity = "0000000000"

function due.message(run, guid) return wide(run) .. "0" .. guid end
function due.work(place) return string.sub(place, 1, 20) .. "1" .. no_guid .. string.sub(place, 22) end
function due.removal(run) return wide(run) .. "2" .. no_guid .. no_activity end
function due.key(run) return wide(run) .. "3" .. no_guid .. no_activity end

function due.put(at, member) call("ZADD", key.due, at, member) end
function due.drop(member) call("ZREM", key.due, member) end
