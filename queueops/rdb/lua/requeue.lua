-- requeue.lua: a failed job that is not quarantined runs again under its own id, at the end of its queue.
-- ARGV: job id, by, why, now as RQ writes it (ISO), id of the call ("" = none): repeated with the same one, it answers "done" again
-- Answer: {"done" | "skipped" | "gone", why, queue}. Events: job.requeued
--- include door
local id, by, why, iso, call = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] or ''
local key = K.rq_job .. id
local got = redis.call('HMGET', key, 'status', 'data', 'origin', F.func, F.call, F.uniques)
local status, queue, func = got[1], got[3] or '', got[4] or ''
if not got[2] then return {'gone', 'there is no job with this id', queue} end
if call ~= '' and got[5] == call then return {'done', '', queue} end
if redis.call('ZSCORE', K.quarantined .. queue, id) then
  return {'skipped', 'quarantined: replay it instead', queue}
end
if redis.call('HGET', K.running, id) then return {'skipped', 'running', queue} end
if not redis.call('ZSCORE', K.rq_failed .. queue, id) or (status ~= 'failed' and status ~= 'stopped') then
  return {'skipped', 'not failed: it is ' .. tostring(status or 'without status'), queue}
end
local specs = uniques(got[6])
local spec, holder = unique_conflict(specs, id)
if spec and holder ~= id then return {'skipped', 'unique: held by ' .. holder, queue} end
redis.call('ZREM', K.rq_failed .. queue, id)
redis.call('HDEL', key, 'started_at', 'ended_at', 'last_heartbeat', 'worker_name')
redis.call('HSET', key, 'status', 'queued', 'enqueued_at', iso, F.since, int(NOW), F.call, call)
redis.call('PERSIST', key)
redis.call('RPUSH', K.rq_queue .. queue, id)
redis.call('SADD', K.rq_queues, K.rq_queue .. queue)
redis.call('ZADD', K.queues, int(NOW), queue)
redis.call('ZADD', K.waiting .. queue, int(NOW), id)
take_uniques(specs, id, NOW, true)
note_accepted(specs)
count(queue, func, 'requeued')
log('job.requeued', {job = id, f = func, q = queue, by = by, why = why})
ring(queue)
return {'done', '', queue}
