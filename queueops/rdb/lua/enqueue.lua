-- The enqueue door: job hash, push, waiting index, ledger and bell in one step.
-- ARGV: mode (queue|schedule|sync|deferred), id, queue, at front (0|1), due (s, or '+s' from now; for schedule), function, ttl (s, 0: none),
--       unique (0|1), then field, value, ... of the job hash
-- Returns {'OK', jobs on the list} | {'EXISTS'} | {'DUPLICATE', status of the open job with this id}
-- Events: (counted) accepted, duplicate; job.duplicate
--- include time
--- include log
--- include count
--- include bell
-- out of memory, read only: the first write says so, before anything is changed
redis.call('SET', K.touched, 1)
local mode, id, queue, front, due, func, ttl, unique = unpack(ARGV, 1, 8)
local key = K.rq_job .. id
if mode == 'deferred' then
  if redis.call('HDEL', key, F.uncounted) == 1 then count(queue, func, 'accepted') end
  redis.call('ZADD', K.queues, int(NOW), queue)
  return {'OK', 0}
end
local function given(name)
  for i = 9, #ARGV, 2 do if ARGV[i] == name then return ARGV[i + 1] end end
end
local old = redis.call('HMGET', key, 'status', F.quarantined, 'origin', 'created_at')
if old[1] then
  -- the same call again, since its answer was lost: the job may have run and ended by now
  if old[4] and old[4] == given('created_at') then return {'OK', redis.call('LLEN', K.rq_queue .. queue)} end
  if unique == '1' then return {'EXISTS'} end
  local open = {queued = 1, scheduled = 1, started = 1, deferred = 1, rate_limited = 1, ready_to_enqueue = 1}
  if open[old[1]] or redis.call('HEXISTS', K.running, id) == 1 then
    count(queue, func, 'duplicate')
    log('job.duplicate', {job = id, f = func, q = queue, why = 'this id is ' .. old[1]})
    return {'DUPLICATE', old[1]}
  end
  local origin = old[3] or queue
  redis.call('ZREM', K.rq_failed .. origin, id)
  redis.call('ZREM', K.rq_finished .. origin, id)
  redis.call('ZREM', K.rq_canceled .. origin, id)
  if old[2] then
    redis.call('ZREM', K.quarantined .. origin, id)
    redis.call('HDEL', K.quarantine_info, id)
    redis.call('SADD', K.quarantine_todo, id)
  end
  redis.call('DEL', key)
end
for i = 9, #ARGV, 1000 do redis.call('HSET', key, unpack(ARGV, i, math.min(i + 999, #ARGV))) end
redis.call('SADD', K.rq_queues, K.rq_queue .. queue)
redis.call('ZADD', K.queues, int(NOW), queue)
if tonumber(ttl) > 0 then
  redis.call('EXPIRE', key, ttl)
  redis.call('ZADD', K.expiring, int(NOW + tonumber(ttl) * 1000000), id)
end
count(queue, func, 'accepted')
if mode == 'schedule' then
  if string.sub(due, 1, 1) == '+' then due = string.format('%.6f', NOW / 1000000 + tonumber(due)) end
  redis.call('ZADD', K.rq_scheduled .. queue, due, id)
  return {'OK', 0}
end
redis.call('HSET', key, F.since, int(NOW))
if mode == 'sync' then return {'OK', 0} end
redis.call('ZADD', K.waiting .. queue, int(NOW), id)
local length = redis.call(front == '1' and 'LPUSH' or 'RPUSH', K.rq_queue .. queue, id)
ring(queue)
return {'OK', length}
