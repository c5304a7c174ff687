-- The lease of a running job is extended from now, with its holds and RQ's entries, which outlast it by 60 s.
-- ARGV: token, worker ttl (s), client time (ISO), client time (s), then the queues that the worker serves
-- Returns {'OK', lease end (µs)} | {'LOST'}
-- Events: lease.expired and those of a crash, when the lease ended before this call; *.expired for a hold that is gone
-- (evicted, or taken by an operator)
--- include door
local token = ARGV[1]
local record = lease_of(token)
if not record then return {'LOST'} end
local ends = tonumber(redis.call('ZSCORE', K.lease_ends, token) or 0)
if ends <= NOW then
  log('lease.expired', {job = record.job, f = record['function'], q = record.queue, w = record.worker, t = string.sub(token, 1, 8)})
  lapse(token, record, 'lease ended')
  return {'LOST'}
end
ends = math.max(ends, NOW + record.span)
redis.call('ZADD', K.lease_ends, int(ends), token)
local held = {}
for _, hold in ipairs(record.holds) do
  local there = true
  if string.sub(hold[1], 1, 1) ~= 'R' then
    there = redis.call('ZSCORE', K.holders .. hold[1], token)
    if there then
      redis.call('ZADD', K.holders .. hold[1], 'XX', int(ends), token)
      keep(K.holders .. hold[1], ends - NOW)
      if redis.call('EXISTS', K.holder_weights .. hold[1]) == 1 then keep(K.holder_weights .. hold[1], ends - NOW) end
    else
      log(subject(hold[1]) .. '.expired', {c = hold[1], job = record.job, f = record['function'], q = record.queue,
        w = record.worker, t = string.sub(token, 1, 8), why = 'the hold vanished while its job runs'})
    end
  end
  if there then held[#held + 1] = hold end
end
if #held < #record.holds then
  record.holds = held
  redis.call('HSET', K.leases, token, lease_text(record))
end
local execution, wip, ms = record.job .. ':' .. token, int(math.floor(ends / 1000000) + 60), math.ceil((ends - NOW) / 1000)
redis.pcall('ZADD', K.rq_wip .. record.queue, 'XX', wip, execution)
if redis.call('EXISTS', K.rq_execution .. execution) == 1 then
  redis.call('HSET', K.rq_execution .. execution, 'last_heartbeat', ARGV[4])
  redis.call('PEXPIRE', K.rq_execution .. execution, ms + 60000)
end
redis.pcall('ZADD', K.rq_executions .. record.job, 'XX', wip, token)
redis.call('PEXPIRE', K.rq_executions .. record.job, ms + 120000)
redis.call('PEXPIRE', K.rq_worker .. record.worker .. ':executions', ms + 120000)
if redis.call('EXISTS', K.rq_job .. record.job) == 1 then redis.call('HSET', K.rq_job .. record.job, 'last_heartbeat', ARGV[3]) end
if redis.call('EXISTS', K.rq_worker .. record.worker) == 1 then
  redis.call('HSET', K.rq_worker .. record.worker, 'last_heartbeat', ARGV[3])
  redis.call('EXPIRE', K.rq_worker .. record.worker, ARGV[2])
end
redis.call('ZADD', K.workers, int(NOW), record.worker)
-- a busy worker serves its queues all the same
for i = 5, #ARGV do
  if served(ARGV[i]) then redis.call('HSET', K.served, ARGV[i], int(NOW)) end
end
return {'OK', int(ends)}
