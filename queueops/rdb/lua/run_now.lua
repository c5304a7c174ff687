-- run_now.lua: one scheduled, retrying or repeating job goes on its queue at once, as if its time had come.
-- ARGV: job id, by, why, now as RQ writes it (ISO), id of the call ("" = none): repeated with the same one, it answers "done" again
-- Only its control decides about a parked job, only RQ about one held by RQ's own rate limit: both are skipped.
-- Answer: {"done" | "skipped" | "gone", why, queue}. Events: job.run_now
--- include time
--- include log
--- include bell
local id, by, why, iso, call = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local key = K.rq_job .. id
local got = redis.call('HMGET', key, 'status', 'data', 'origin', F.func, F.parked, 'rate_limit_key', 'enqueue_at_front',
  'ttl', F.call)
local status, queue, func = got[1], got[3] or '', got[4] or ''
if not status and not got[2] then return {'gone', 'there is no job with this id', queue} end
if call ~= '' and got[9] == call then return {'done', '', queue} end
if redis.call('HEXISTS', K.running, id) == 1 or status == 'started' then return {'skipped', 'running already', queue} end
if status == 'queued' then return {'skipped', 'on its queue already', queue} end
if got[5] and status == 'scheduled' then
  local what = got[5] == '' and 'it comes back by time' or string.gsub(string.sub(got[5], 3), SEP .. '?$', '')
  return {'skipped', 'parked (' .. string.gsub(what, SEP, ' ') .. '): only the control decides', queue}
end
if got[6] then return {'skipped', 'held by the rate limit of RQ itself', queue} end
if status ~= 'scheduled' then return {'skipped', 'not scheduled: it is ' .. tostring(status or 'without status'), queue} end
if redis.call('HSTRLEN', key, 'data') == 0 then return {'skipped', 'half a job: its data is missing', queue} end
if not redis.call('ZSCORE', K.rq_scheduled .. queue, id) then
  return {'skipped', 'it says scheduled, but is in no schedule', queue}
end
redis.call('ZREM', K.rq_scheduled .. queue, id)
redis.call('HSET', key, 'status', 'queued', 'enqueued_at', iso, F.since, int(NOW), F.call, call)
if not got[8] then redis.call('PERSIST', key) end
redis.call(got[7] == '1' and 'LPUSH' or 'RPUSH', K.rq_queue .. queue, id)
redis.call('SADD', K.rq_queues, K.rq_queue .. queue)
redis.call('ZADD', K.queues, int(NOW), queue)
redis.call('ZADD', K.waiting .. queue, int(NOW), id)
log('job.run_now', {job = id, f = func, q = queue, by = by, why = why})
ring(queue)
return {'done', '', queue}
