-- discard.lua: one job that is not running is deleted for good; its SQL copy was made before.
-- ARGV: job id, by, why, queue (from the SQL copy)
-- An open job counts as discarded; a held one (quarantined, failed) was not open, so it counts as discarded_held.
-- Answer: {"done" | "skipped" | "gone", why, queue}. Event: job.discarded
--- include door
--- include withdraw
local id, by, why = ARGV[1], ARGV[2], ARGV[3]
local key = K.rq_job .. id
local got = redis.call('HMGET', key, 'status', 'data', 'origin', F.func, F.parked, F.claims, 'dependency_ids', F.replayed_as)
local info = decoded(redis.call('HGET', K.quarantine_info, id)) or {}
local status, func = got[1], got[4] or info['function'] or ''
local queue = got[3] or info.queue or ARGV[4] or ''
local member = redis.call('ZSCORE', K.quarantined .. queue, id)
if not status and not got[2] and not member then return {'gone', 'there is no job with this id', queue} end
if redis.call('HGET', K.running, id) or status == 'started' then
  return {'skipped', 'running: wait for its end or stop it first', queue}
end
if got[8] and not member then return {'skipped', 'already replayed as ' .. got[8], queue} end
local open = status == 'queued' or status == 'scheduled' or status == 'deferred' or status == 'created'
local held = member or redis.call('ZSCORE', K.rq_failed .. queue, id)
if not open and not held then
  return {'skipped', 'neither open nor held: it is ' .. tostring(status or 'without status'), queue}
end
local off = true
if open and not member then off = withdraw(id, queue, got[5], got[6], got[7]) end
redis.call('ZREM', K.quarantined .. queue, id)
redis.call('ZREM', K.rq_failed .. queue, id)
redis.call('HDEL', K.quarantine_info, id)
redis.call('SADD', K.quarantine_todo, id)
unique_gone(id)
redis.call('UNLINK', key, K.rq_results .. id, key .. ':dependents', K.rq_job .. ':' .. id .. ':dependencies')
if not off then
  -- its entry stays deep in a long list: the claim that meets it finds a cancelled job and drops it
  redis.call('HSET', key, 'status', 'canceled', 'data', '-', 'origin', queue)
  redis.call('EXPIRE', key, 604800)
end
count(queue, func, (open and not member) and 'discarded' or 'discarded_held')
log('job.discarded', {job = id, f = func, q = queue, by = by, why = why})
return {'done', '', queue}
