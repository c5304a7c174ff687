-- A leased job that came from plain RQ gets its claims: takes them all, or is parked again as if never started.
-- ARGV: token, claims (JSON), function, policy (JSON), span (µs), simple (0|1), field (claims), ...
-- Returns {'TAKEN'} | {'PARKED'} | {'QUARANTINED'} | {'SKIPPED'} | {'LOST'}
-- Events: job.adopted, .parked, .quarantined, .skipped; *.acquired
--- include door
local token, raw_claims, func, policy, span, simple = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local record = lease_of(token)
if not record then return {'LOST'} end
if record.adopting == 0 then return {'TAKEN'} end -- asked again: the answer was lost
local id, queue, key = record.job, record.queue, K.rq_job .. record.job
local claims = sorted_claims(raw_claims) or {}
redis.call('HSET', key, F.claims, raw_claims, F.func, func, F.policy, policy)
local since = tonumber(redis.call('HGET', key, F.since)) or NOW
local fields = {job = id, f = func, q = queue, w = record.worker, t = string.sub(token, 1, 8)}
log('job.adopted', fields)

local function undo()
  end_lease(token, record)
  redis.call('HINCRBY', key, F.attempts, -1)
end
local isolated = isolation_of(func, redis.call('HGET', key, F.error), claims)
if isolated then
  undo()
  quarantine_job(id, queue, func, 'isolated', isolated)
  return {'QUARANTINED'}
end
local pause = paused_function(func)
if pause then
  undo()
  park(id, queue, func, pause_claim(func), since, pause['until'] > 0 and pause['until'] or nil, 'function paused')
  return {'PARKED'}
end
local verdict, claim, due = 'woke', nil, nil
for _ = 1, 10 do
  if verdict ~= 'woke' then break end
  verdict, claim, due = refusal(id, since, claims)
end
if verdict == 'ok' then
  if not simple then record.span = span_of(claims, span) end
  local ends = NOW + record.span
  record.holds, record['function'], record.adopting = hold(token, id, claims, ends, fields), func, 0
  redis.call('HSET', K.leases, token, lease_text(record))
  redis.call('ZADD', K.lease_ends, int(ends), token)
  begin(queue, func, since, fields)
  return {'TAKEN'}
end
undo()
if claim and claim.o == 'drop' then
  skip(id, queue, func, claim)
  return {'SKIPPED'}
end
if claim and claim.mw > 0 and NOW - since >= claim.mw then
  quarantine_job(id, queue, func, 'waited', 'waited too long for ' .. string.gsub(claim.i, SEP, ' '))
  return {'QUARANTINED'}
end
park(id, queue, func, claim or claims[1], since, due)
return {'PARKED'}
