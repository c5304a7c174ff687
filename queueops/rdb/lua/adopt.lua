-- A leased job that came from plain RQ gets its claims: takes them all, or is parked again as if never started.
-- ARGV: token, claims (JSON), function, policy (JSON), span (µs), simple (0|1), unique claims (JSON, '': none), then fields and
--       values that the declarations add to the job's hash
-- Returns {'TAKEN'} | {'PARKED'} | {'QUARANTINED'} | {'SKIPPED'} | {'LOST'}
-- Events: job.adopted, .parked, .quarantined, .skipped; *.acquired
--- include door
--- include withdraw
--- include supersede
local token, raw_claims, func, policy, span, simple = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local record = lease_of(token)
if not record then return {'LOST'} end
if record.adopting == 0 then return {'TAKEN'} end -- asked again: the answer was lost
local id, queue, key = record.job, record.queue, K.rq_job .. record.job
local claims = sorted_claims(raw_claims) or {}
redis.call('HSET', key, F.claims, raw_claims, F.func, func, F.policy, policy)
if ARGV[7] ~= '' then redis.call('HSET', key, F.uniques, ARGV[7]) end
if ARGV[8] then redis.call('HSET', key, unpack(ARGV, 8)) end
local since = tonumber(redis.call('HGET', key, F.since)) or NOW
local fields = {job = id, f = func, q = queue, w = record.worker, t = string.sub(token, 1, 8)}
log('job.adopted', fields)

local function made(other)
  local at = redis.call('HMGET', K.rq_job .. other, F.since, 'created_at')
  return num(at[1]) or iso_us(at[2]) or 0
end
local function undo()
  end_lease(token, record)
  redis.call('HINCRBY', key, F.attempts, -1)
end
local function decide()
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
  -- it did not pass the enqueue door: what would have happened there happens here
  local specs = uniques(ARGV[7])
  for _ = 1, 2 * #specs do
    local spec, holder, waits = unique_conflict(specs, id)
    if not spec or holder == id then break end
    if (spec.c == 'replace' or spec.c == 'coalesce') and (waits or spec.l ~= 'ttl') then
      local waiting, behind = place_of(spec, id, nil, holder, waits)
      -- what is newer stays: this one came by a way that nobody watches, perhaps long before it
      if waiting and made(waiting) > since then
        undo()
        supersede(id, waiting)
        return {'SKIPPED'}
      end
      if waiting then supersede(waiting, id) end
      if behind then
        undo()
        park(id, queue, func, {i = spec.i, t = spec.t, mw = 0}, since, nil, 'unique: waits for ' .. holder)
        return {'PARKED'}
      end
    else
      undo()
      if spec.c == 'reject' then
        quarantine_job(id, queue, func, 'duplicate', 'duplicate of ' .. holder)
        return {'QUARANTINED'}
      elseif spec.c ~= 'reschedule' then
        skip(id, queue, func, {i = spec.i}, 'duplicate of ' .. holder)
        return {'SKIPPED'}
      elseif put_off(id, queue, func, spec.i, spec.d, since) then
        return {'PARKED'}
      end
      quarantine_job(id, queue, func, 'duplicate', 'put off ' .. MOST_RESCHEDULES .. ' times: duplicate of ' .. holder)
      return {'QUARANTINED'}
    end
  end
  take_uniques(specs, id, NOW)
  local verdict, claim, due = 'woke', nil, nil
  for _ = 1, 10 do
    if verdict ~= 'woke' then break end
    verdict, claim, due = refusal(id, since, claims)
  end
  if verdict == 'ok' then
    if not simple then record.span = span_of(claims, span) end
    local ends = NOW + record.span
    record.holds, record['function'], record.adopting = hold(token, id, claims, ends, fields), func, 0
    record.uniques = specs
    redis.call('HSET', K.leases, token, lease_text(record))
    unique_start(specs, id)
    redis.call('ZADD', K.lease_ends, int(ends), token)
    begin(queue, func, since, fields)
    return {'TAKEN'}
  end
  undo()
  if claim and claim.o == 'drop' then
    skip(id, queue, func, claim)
    return {'SKIPPED'}
  end
  if claim and (claim.o == 'reject' or claim.o == 'reschedule' and not put_off(id, queue, func, claim.i, claim.ra, since)) then
    quarantine_job(id, queue, func, 'duplicate', 'the same is running: ' .. string.gsub(claim.i, SEP, ' '))
    return {'QUARANTINED'}
  end
  if claim and claim.o == 'reschedule' then return {'PARKED'} end
  if claim and claim.mw > 0 and NOW - since >= claim.mw then
    quarantine_job(id, queue, func, 'waited', 'waited too long for ' .. string.gsub(claim.i, SEP, ' '))
    return {'QUARANTINED'}
  end
  park(id, queue, func, claim or claims[1], since, due)
  return {'PARKED'}
end
local ok, answer = attempt(decide)
if ok then return answer end
local touched = {}
for _, claim in ipairs(claims) do touched[#touched + 1] = claim.i end
abort(id, queue, token, touched)
return problem_reply({queue})
