-- NOW: the store's clock in µs; int(x): its exact text (".." would round to 14 digits)
local time_parts = redis.call('TIME')
local NOW = time_parts[1] * 1000000 + time_parts[2]
if C.clock then -- in tests only: moved by so much, or standing still at "=<µs>"
  local moved = redis.call('GET', K.clock) or '0'
  local at = string.match(moved, '^=(%d+)$')
  NOW = at and tonumber(at) or NOW + tonumber(moved)
end
local TEXTS = {}
local function int(x)
  -- remembered: formatting costs as much as a command, and the same few times are written again and again
  local text = TEXTS[x]
  if not text then
    text = string.format('%.0f', x)
    TEXTS[x] = text
  end
  return text
end
