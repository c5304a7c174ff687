-- count(queue, func, event[, n]): the ledger: since the beginning, per 10 s and queue, per minute and function
-- What cannot be counted (a key or a field that holds something else) stops no door.
-- observe(queue, func, kind, us): histogram of waiting ('w') or run ('r') time; bin = floor(4 * log2(ms))
local SECOND = math.floor(NOW / 1000000)
local function minute_key(queue, func)
  return K.minute .. int(SECOND - SECOND % 60) .. SEP .. queue .. SEP .. func
end
local function count(queue, func, event, n)
  n = n or 1
  redis.pcall('HINCRBY', K.total .. queue, event, n)
  local ten = K.ten .. int(SECOND - SECOND % 10)
  if redis.pcall('HINCRBY', ten, queue .. SEP .. event, n) == n then redis.call('EXPIRE', ten, 3660) end
  local minute = minute_key(queue, func)
  if redis.pcall('HINCRBY', minute, event, n) == n then
    redis.call('EXPIRE', minute, 10860)
    redis.pcall('ZADD', K.functions, int(NOW), queue .. SEP .. func)
  end
end
local function observe(queue, func, kind, us)
  local minute = minute_key(queue, func)
  local bin = math.floor(4 * math.log(math.max(us / 1000, 1)) / math.log(2))
  redis.pcall('HINCRBY', minute, kind .. math.min(bin, 130), 1)
  redis.pcall('HINCRBY', minute, kind .. 't', int(math.max(us, 0)))
end
