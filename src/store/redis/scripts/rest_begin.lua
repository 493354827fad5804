-- From here to rest_end.lua: what most groups do not need.
load_rest = function()
if rest then return rest end
