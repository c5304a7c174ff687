-- Slots of an instance: a zset member -> end (µs), and a hash with the weights that are not 1 and, under "",
-- the sum of (weight - 1). Holders and offers are kept this way; the two structures change only here.
local function keep(key, us)
  -- a key lives at least as long as its longest entry, and a minute more
  local ms = math.ceil(us / 1000) + 60000
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end
local function slot_add(slots, weights, instance, member, weight, ends)
  if redis.call('ZADD', slots .. instance, int(ends), member) == 1 and weight ~= 1 then
    redis.call('HSET', weights .. instance, member, weight)
    redis.call('HINCRBY', weights .. instance, '', weight - 1)
  end
  keep(slots .. instance, ends - NOW)
  if weight ~= 1 then keep(weights .. instance, ends - NOW) end
end
local function slot_remove(slots, weights, instance, member)
  if redis.call('ZREM', slots .. instance, member) == 0 then return false end
  local weight = redis.call('HGET', weights .. instance, member)
  if weight then
    redis.call('HDEL', weights .. instance, member)
    if redis.call('HINCRBY', weights .. instance, '', 1 - tonumber(weight)) <= 0 then redis.call('DEL', weights .. instance) end
  end
  return true
end
local function slot_used(slots, weights, instance)
  local members = redis.call('ZCARD', slots .. instance)
  if members == 0 then return 0 end
  return members + (tonumber(redis.call('HGET', weights .. instance, '')) or 0)
end
-- forget_if_empty(instance): out of the index of live instances when nobody holds, is offered or waits
local function forget_if_empty(instance)
  if redis.call('EXISTS', K.holders .. instance, K.offers .. instance, K.line .. instance, K.rate .. instance) == 0 then
    redis.call('ZREM', K.instances, instance)
    redis.call('HDEL', K.key_text, instance)
  end
end
