-- Removes stale heads from the index of waiting jobs: the job is gone, ended, or runs outside our doors.
-- ARGV: most heads per queue, queues (JSON)
-- Returns {looked at, removed}
-- Events: job.cancelled, for those that plain RQ cancelled
--- include door
local WAITS = {queued = true, scheduled = true, deferred = true, created = true, rate_limited = true, ready_to_enqueue = true}
local looked, removed = 0, 0
for _, queue in ipairs(cjson.decode(ARGV[2])) do
  for _, id in ipairs(redis.call('ZRANGE', K.waiting .. queue, 0, tonumber(ARGV[1]) - 1)) do
    looked = looked + 1
    local got = redis.call('HMGET', K.rq_job .. id, 'status', F.func, F.parked)
    if called_off(id, queue, got[2] or '', got[1], got[3]) then
      removed = removed + 1
    elseif not WAITS[got[1] or ''] then
      removed = removed + redis.call('ZREM', K.waiting .. queue, id)
    end
  end
end
return {looked, removed}
