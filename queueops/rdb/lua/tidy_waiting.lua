-- Removes stale heads from the index of waiting jobs: the job is gone, ended, or runs outside our doors.
-- ARGV: most heads per queue, queues (JSON)
-- Returns {looked at, removed}
local WAITS = {queued = true, scheduled = true, deferred = true, created = true, rate_limited = true, ready_to_enqueue = true}
local looked, removed = 0, 0
for _, queue in ipairs(cjson.decode(ARGV[2])) do
  for _, id in ipairs(redis.call('ZRANGE', K.waiting .. queue, 0, tonumber(ARGV[1]) - 1)) do
    looked = looked + 1
    local status = redis.call('HGET', K.rq_job .. id, 'status')
    if not status or not WAITS[status] then
      removed = removed + redis.call('ZREM', K.waiting .. queue, id)
    end
  end
end
return {looked, removed}
