-- Where a page begins: places that stay right while entries come and go.
-- before(a, b): bytewise, as sorted sets order members of one score ('<' would ask the locale)
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- after_key(key, score, member) -> how many entries of the sorted set are not behind (score, member), was it there itself
local function after_key(key, score, member)
  if redis.call('ZSCORE', key, member) == score then return redis.call('ZRANK', key, member) + 1, true end
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(redis.call('ZRANGE', key, middle, middle)[1], member) then low = middle + 1 else high = middle end
  end
  return low, false
end
-- place_in_list(list, length, since, hint, anchors) -> index of the first anchor that is still there, exact; else how many
-- entries have waited since then or longer: a queue's list is ordered by that, but for what was put in front.
local WINDOW = 4000
local function place_in_list(list, length, since, hint, anchors)
  local from = math.max(0, math.min(hint, length - 1) - WINDOW)
  local at = {}
  for i, id in ipairs(redis.call('LRANGE', list, from, hint + 200)) do at[id] = from + i - 1 end
  for _, id in ipairs(anchors) do if at[id] then return at[id], true end end
  local low, high = 0, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    local got = redis.call('HMGET', K.rq_job .. redis.call('LINDEX', list, middle), F.since, 'enqueued_at')
    if (num(got[1]) or iso_us(got[2]) or NOW) <= since then low = middle + 1 else high = middle end
  end
  return low, false
end
