-- Trims the indexes: empty instances of one page, workers unheard of for long, old queues and functions, releases.
-- ARGV: offset into the instances, page, age of workers (µs), age of queues and functions (µs), most functions, most releases
-- Returns {instances looked at, instances forgotten, workers forgotten}
--- include door
local offset, page = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('ZRANGE', K.instances, offset, offset + page - 1)
local before = redis.call('ZCARD', K.instances)
for _, instance in ipairs(ids) do
  -- of a waiting job that is gone without a word nobody else tells
  if string.sub(instance, 1, 2) == 'U:' then attempt(unique_tidy, instance) else forget_if_empty(instance) end
end
local forgotten = before - redis.call('ZCARD', K.instances)
local silent = redis.call('ZRANGEBYSCORE', K.workers, '-inf', int(NOW - ARGV[3]), 'LIMIT', 0, 100)
for _, worker in ipairs(silent) do
  unidle(worker)
  redis.call('ZREM', K.workers, worker)
  redis.call('HDEL', K.quiet, worker)
end
for _, key in ipairs({K.queues, K.functions}) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', int(NOW - ARGV[4]))
end
local over = redis.call('ZCARD', K.functions) - ARGV[5]
if over > 0 then redis.call('ZREMRANGEBYRANK', K.functions, 0, math.min(over, 1000) - 1) end
over = redis.call('ZCARD', K.releases) - ARGV[6]
if over > 0 then redis.call('ZREMRANGEBYRANK', K.releases, 0, math.min(over, 1000) - 1) end
return {#ids, forgotten, #silent}
