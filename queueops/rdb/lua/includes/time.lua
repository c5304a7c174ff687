-- NOW: the store's clock in µs; int(x): its exact text (".." would round to 14 digits)
local time_parts = redis.call('TIME')
local NOW = time_parts[1] * 1000000 + time_parts[2]
if C.clock then NOW = NOW + (tonumber(redis.call('GET', K.clock)) or 0) end -- in tests only
local function int(x) return string.format('%.0f', x) end
