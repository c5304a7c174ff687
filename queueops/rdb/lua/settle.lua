-- The settle door: RQ's recorded transaction, release, outcome and wake-up in one step.
-- ARGV: token, outcome, options (JSON: function, error, fingerprint, reason, seconds, guard, repeats, dependents key,
--       stopped, breakers, dependencies), number of commands, then per command: number of parts, parts...
-- outcome: completed | failed | retried | put_back | postponed | discarded | crashed
-- Returns {'OK', outcome recorded, dependents (0|1)} | {'LOST'} (nothing changed) | {'DEPENDENTS'} (nothing changed)
-- Events: job.completed, .failed, .retried, .quarantined, .discarded, .put_back, .crashed; *.released; job.woken
--- include door
--- include dependencies
--- include withdraw
local token, outcome, options = ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local record = lease_of(token)
if not record then
  local key = K.rq_job .. (options.job or '')
  local got = redis.call('HMGET', key, 'status', F.token, F.settled)
  -- asked again, since the answer was lost
  if outcome == 'completed' and got[1] == 'finished' and got[2] == token then return {'OK', outcome, 0} end
  local short, told, recorded = string.match(got[3] or '', '^(%S+) (%S+) (%S+)$')
  if short == string.sub(token, 1, 8) and told == outcome then
    return {'OK', recorded, (recorded == 'failed' or recorded == 'quarantined') and redis.call('EXISTS', key .. ':dependents') or 0}
  end
  log('lease.lost', {t = string.sub(token, 1, 8), job = options.job, f = options['function'], why = 'finished after losing its lease'})
  return {'LOST'}
end
local id, queue, func, key = record.job, record.queue, record['function'], K.rq_job .. record.job
if tonumber(redis.call('ZSCORE', K.lease_ends, token) or 0) <= NOW then
  local got = redis.call('HMGET', key, 'status', 'worker_name')
  if told_elsewhere(token, record, got[1], got[2]) then
    lapse(token, record, 'lease ended')
    log('lease.lost', {t = string.sub(token, 1, 8), job = id, f = func, why = 'finished after RQ called it abandoned'})
    return {'LOST'}
  end
end
local has_dependents = redis.call('EXISTS', key .. ':dependents')
-- called anew while it ran, and no claim has met that call: it is kept for after this run
local now = redis.call('HMGET', key, 'status', 'origin')
if now[1] == 'queued' and redis.call('HEXISTS', K.again, id) == 0 then
  local place = now[2] or queue
  if on_the_list(id, place) then
    off_the_list(id, place)
    redis.call('HSET', K.again, id, place)
    redis.call('SADD', K.renewed_call, id)
    log('job.already_running', {job = id, f = func, q = place, t = string.sub(token, 1, 8)})
  end
end
if options.guard == 1 and has_dependents == 1 then return {'DEPENDENTS'} end

local at, problem = 5, nil
for _ = 1, tonumber(ARGV[4]) do
  local parts = tonumber(ARGV[at])
  local done = redis.pcall(unpack(ARGV, at + 1, at + parts))
  if type(done) == 'table' and done.err then problem = problem or done.err end
  at = at + parts + 1
end
if redis.call('EXISTS', key) == 1 and redis.call('HSTRLEN', key, 'data') == 0 then redis.call('DEL', key) end
if options.delay then
  redis.call('ZADD', K.rq_scheduled .. queue, 'XX', string.format('%.6f', NOW / 1000000 + options.delay), id)
end
if problem then log('job.settle_problem', {job = id, f = func, q = queue, why = problem}) end

local fields = {job = id, f = func, q = queue, w = record.worker, t = string.sub(token, 1, 8),
  why = options.reason or options.error}
local function forget_error()
  redis.call('HDEL', key, F.attempts, F.failures, F.crashes, F.crash_at, F.error, F.error_line, F.parkings, F.parked, F.reschedules)
end
-- told(recorded): what a repetition of this call is answered; of a plain success RQ's own record tells
local function told(recorded)
  if redis.call('EXISTS', key) == 1 then redis.call('HSET', key, F.settled, string.sub(token, 1, 8) .. ' ' .. ARGV[2] .. ' ' .. recorded) end
end
local function waits_again()
  -- a new try waits anew: from now if it stands on its queue, from its due time if scheduled
  local status = redis.call('HGET', key, 'status')
  redis.call('HDEL', key, F.since)
  if status == 'queued' then
    redis.call('HSET', key, F.since, int(NOW))
    redis.call('ZADD', K.waiting .. queue, int(NOW), id)
    ring(queue)
  end
end

if outcome == 'crashed' then
  local recorded = lapse(token, record, options.reason)
  if PROBLEM then return problem_reply({queue}) end
  told(recorded)
  return {'OK', recorded, (recorded == 'failed' or recorded == 'quarantined') and has_dependents or 0}
end
note_dependencies(queue, func, options.dependencies)
local function finish()
  begin_late(token, record)
  local specs = record.uniques or {}
  if outcome == 'put_back' then reserve(record) end
  end_lease(token, record)
  if outcome == 'completed' then
    count(queue, func, 'completed')
    observe(queue, func, 'r', NOW - record.started)
    log('job.completed', fields)
    note_completed(specs, record.started)
    if options.repeats == 1 and redis.call('EXISTS', key) == 1 then
      count(queue, func, 'accepted')
      forget_error()
      waits_again()
      note_accepted(specs)
      unique_again(specs, id, true)
    else
      unique_end(specs, id, true)
    end
  elseif outcome == 'retried' or outcome == 'failed' then
    count(queue, func, 'failed_attempt')
    observe(queue, func, 'r', NOW - record.started)
    local there = redis.call('EXISTS', key) == 1
    for _, claim in ipairs(options.breakers or {}) do
      local ends = charge_breaker(claim, token)
      if ends then
        log('breaker.opened', {c = claim.i, job = id, f = func, q = queue, why = 'for ' .. math.ceil((ends - NOW) / 1000000) .. ' s: ' .. (options.error or '')})
      end
    end
    if there then
      redis.call('HINCRBY', key, F.failures, 1)
      if options.fingerprint then redis.call('HSET', key, F.error, options.fingerprint, F.error_line, options.error or '') end
    end
    if outcome == 'retried' then
      count(queue, func, 'retried')
      log('job.retried', fields)
      if there then
        waits_again()
        unique_again(specs, id)
      end
    else
      local policy = policy_of(redis.call('HGET', key, F.policy))
      local attempts = tonumber(redis.call('HGET', key, F.attempts)) or 1
      if there and options.stopped ~= 1 and (attempts >= policy.after or options.quarantine == 1) then
        outcome = 'quarantined'
        quarantine_job(id, queue, func, options.kind or 'failed',
          options.quarantine == 1 and options.reason or ('failed after ' .. attempts .. ' attempts'), options.error)
      else
        if there then redis.call('HDEL', key, F.since) end
        count(queue, func, 'failed')
        log('job.failed', fields)
        unique_end(specs, id, true)
      end
    end
  elseif outcome == 'put_back' then
    put_back(id, queue, func, options.reason, specs)
  elseif outcome == 'postponed' then
    redis.call('HINCRBY', key, F.attempts, -1)
    redis.call('PERSIST', key)
    redis.call('HSET', key, 'status', 'scheduled', F.parked, '')
    redis.call('ZADD', K.rq_scheduled .. queue, int(math.floor(NOW / 1000000) + 3600), id)
    redis.call('ZADD', K.parked .. queue, int(NOW + options.seconds * 1000000), id)
    redis.call('ZADD', K.waiting .. queue, redis.call('HGET', key, F.since) or int(NOW), id)
    count(queue, func, 'put_back')
    unique_again(specs, id)
    log('job.postponed', fields)
  elseif outcome == 'discarded' then
    redis.call('HSET', key, 'status', 'canceled')
    redis.call('EXPIRE', key, 500)
    count(queue, func, 'discarded')
    log('job.discarded', fields)
    unique_end(specs, id, true)
  end
  -- the worker looks at them next; if it dies before that, the monitor does
  if has_dependents == 1 and outcome == 'failed' then redis.call('SADD', K.parents, id) end
  if outcome ~= 'completed' or options.repeats == 1 then told(outcome) end
end
if not attempt(finish) then
  abort(id, queue, token, held_by(record))
  return problem_reply({queue})
end
return {'OK', outcome, has_dependents}
