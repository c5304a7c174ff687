-- A job is about to be deleted or cancelled through our Job class: out of every index of ours; counted if it was open.
-- ARGV: id, queue, event (discarded|cancelled)
-- Returns 1 if it was open, else 0
-- Events: job.discarded, job.cancelled
--- include door
local id, queue, event = ARGV[1], ARGV[2], ARGV[3]
local key = K.rq_job .. id
local got = redis.call('HMGET', key, 'status', F.func, F.parked, F.quarantined)
local open = {queued = 1, scheduled = 1, deferred = 1, rate_limited = 1, ready_to_enqueue = 1}
redis.call('ZREM', K.waiting .. queue, id)
redis.call('ZREM', K.expiring, id)
if got[3] then unpark(id, queue, got[3]) end
if got[3] and got[3] ~= '' then pump_at(got[3], NOW) end -- it may have stood before others
if got[4] then
  redis.call('ZREM', K.quarantined .. queue, id)
  redis.call('ZREM', K.rq_failed .. queue, id)
  redis.call('HDEL', K.quarantine_info, id)
  redis.call('SADD', K.quarantine_todo, id)
end
if redis.call('HEXISTS', K.running, id) == 1 then return 0 end
unique_gone(id)
if not open[got[1] or ''] then return 0 end
if redis.call('HDEL', key, F.uncounted) == 1 then count(queue, got[2] or '', 'accepted') end
count(queue, got[2] or '', event)
log('job.' .. event, {job = id, f = got[2], q = queue})
return 1
