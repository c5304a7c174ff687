-- The claim door: the next job that may run, from several queues in strict order, in one step.
-- ARGV: worker, token, previous token ('' if settled), queues (JSON), span (µs), simple (0|1), idle (0|1), worker ttl (s),
--       client time (ISO), client time (s)
-- Returns {'JOB', id, queue, adopt (0|1), again (0|1), field, value, ...} | {'EMPTY', wait (µs, -1: no due time), parked, more to
--       look at (0|1): ask again at once, parents (0|1): there are dependents to look at}
--       | {'SUSPENDED'} | {'QUIET'} | {'MIRROR_MISSING'}
-- Events: job.started, .parked, .quarantined, .skipped, .gone, .expired; *.acquired; those of includes/due
--- include door
local worker, token, previous, queues = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local span, simple, idle, worker_ttl, iso, seconds = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1', ARGV[8], ARGV[9], ARGV[10]

local gate = redis.call('MGET', K.epoch, K.schema, K.rq_suspended)
if gate[2] and num(gate[2], 0) > tonumber(C.schema) then
  return redis.error_reply('QO SCHEMA_NEWER this Redis holds layout ' .. gate[2] .. '; upgrade queueops here')
end
if not gate[1] then return {'MIRROR_MISSING'} end

local worker_key = K.rq_worker .. worker
local function alive(state)
  redis.call('HSET', worker_key, 'last_heartbeat', iso, 'state', state)
  redis.call('EXPIRE', worker_key, worker_ttl)
  redis.call('ZADD', K.workers, int(NOW), worker)
end

-- has_work(queue): is something on its list, as far as that can be read?
local function has_work(queue)
  local n = not paused_queue(queue) and redis.pcall('LLEN', K.rq_queue .. queue)
  return type(n) == 'number' and n > 0
end

local function answer(id, queue, adopt, again)
  alive('busy')
  local out = {'JOB', id, queue, adopt, again}
  for _, part in ipairs(redis.call('HGETALL', K.rq_job .. id)) do out[#out + 1] = part end
  return out
end

local record = lease_of(token)
if record then
  local adopt = redis.call('HEXISTS', K.rq_job .. record.job, F.claims) == 1 and 0 or 1
  return answer(record.job, record.queue, adopt, 1)
end
if previous ~= '' then
  local left = lease_of(previous)
  if left then lapse(previous, left, 'process ended without a word') end
end
unidle(worker)
if gate[3] then
  alive('suspended')
  return {'SUSPENDED'}
end

-- told to start nothing new: it registers for no bell, and others have its turn
if redis.call('HEXISTS', K.quiet, worker) == 1 then
  alive('idle')
  if redis.call('GET', K.keeper) == worker then redis.call('DEL', K.keeper) end
  for _, queue in ipairs(queues) do
    if has_work(queue) and ring(queue) then break end
  end
  return {'QUIET'}
end

-- consider(queue, id) -> 'started' | 'next' | 'look' (the front of a queue changed)
local adopt_flag = 0
local function consider(queue, id)
  local key, list = K.rq_job .. id, K.rq_queue .. queue
  local got = redis.pcall('HMGET', key, 'status', F.func, F.claims, F.since, 'enqueued_at', 'timeout', F.policy, F.error,
    F.parked, F.crashes, F.crash_at, F.quarantined, F.attempts, F.failures, F.parkings, F.uncounted, F.uniques)
  if got.err then
    redis.call('LPOP', list)
    log('job.undecodable', {job = id, q = queue, why = 'its key does not hold a job'})
    gone(id, queue, '')
    return 'next'
  end
  local status, func = got[1], got[2] or ''
  if redis.call('HSTRLEN', key, 'data') == 0 then
    redis.call('LPOP', list)
    if redis.call('EXISTS', key) == 1 then
      quarantine_job(id, queue, func, 'undecodable', 'half a job: the hash has no data')
    else
      gone(id, queue, func)
    end
    return 'next'
  end
  local live = redis.call('HGET', K.running, id)
  if live and redis.call('HEXISTS', K.leases, live) == 1 then
    redis.call('LPOP', list)
    redis.call('HSET', K.again, id, queue)
    if status == 'queued' then redis.call('SADD', K.renewed_call, id) end
    log('job.already_running', {job = id, f = func, q = queue, t = string.sub(live, 1, 8)})
    return 'next'
  end
  if status == 'finished' or status == 'failed' or status == 'canceled' or status == 'stopped' then
    redis.call('LPOP', list)
    if not called_off(id, queue, func, status, got[9]) then redis.call('ZREM', K.waiting .. queue, id) end
    log('job.stale_entry', {job = id, f = func, q = queue, why = status})
    return 'next'
  end
  local claims = sorted_claims(got[3] or '[]')
  local broken = not claims and 'its claims cannot be read'
  for at, field in pairs({[10] = F.crashes, [13] = F.attempts, [14] = F.failures, [15] = F.parkings}) do
    if got[at] and not string.match(got[at], '^%-?%d+$') then broken = field .. ' is not a number' end
  end
  if broken then
    redis.call('LPOP', list)
    if got[9] then unpark(id, queue, got[9]) end
    quarantine_job(id, queue, func, 'undecodable', broken)
    return 'next'
  end
  if got[16] and redis.call('HDEL', key, F.uncounted) == 1 then count(queue, func, 'accepted') end
  if got[12] then leave_quarantine(id, queue) end
  if got[9] then unpark(id, queue, got[9]) end
  local since = math.min(num(got[4]) or iso_us(got[5]) or NOW, NOW)
  if paused_function(func) then
    local pause = paused_function(func)
    redis.call('LPOP', list)
    park(id, queue, func, pause_claim(func), since, pause['until'] > 0 and pause['until'] or nil, 'function paused')
    return 'next'
  end
  local isolated = isolation_of(func, got[8], claims)
  if isolated then
    redis.call('LPOP', list)
    quarantine_job(id, queue, func, 'isolated', isolated)
    return 'next'
  end
  local crashes = num(got[10], 0)
  if crashes >= policy_of(got[7]).crashes and NOW - num(got[11], 0) < 86400000000 then
    redis.call('LPOP', list)
    quarantine_job(id, queue, func, 'crashes', 'worker died ' .. crashes .. ' times')
    return 'next'
  end
  local specs = got[17] and uniques(got[17])
  if specs then
    -- after the first start only the lock that lasts as long as the job is still needed
    local needed = {}
    for _, spec in ipairs(specs) do
      if spec.l == 'end' or num(got[13], 0) == 0 then needed[#needed + 1] = spec end
    end
    local spec, holder = unique_conflict(needed, id)
    if spec and holder ~= id then
      redis.call('LPOP', list)
      if spec.c ~= 'reschedule' then
        park(id, queue, func, {i = spec.i, t = spec.t, mw = 0}, since, nil, 'unique: held by ' .. holder)
      elseif not put_off(id, queue, func, spec.i, spec.d, since) then
        quarantine_job(id, queue, func, 'duplicate', 'put off ' .. MOST_RESCHEDULES .. ' times: duplicate of ' .. holder)
      end
      return 'next'
    end
    for _, missing in ipairs(needed) do
      -- one that was put off or parked for it never had it
      if not got[9] and not redis.call('ZSCORE', K.holders .. missing.i, id) and num(redis.call('HGET', key, F.reschedules), 0) == 0 then
        log('unique.missing', {c = missing.i, job = id, why = 'expired or taken before its job started'})
      end
    end
    take_uniques(needed, id, NOW)
  end
  local verdict, claim, due = refusal(id, since, claims)
  if verdict == 'woke' then return 'look' end
  redis.call('LPOP', list)
  if verdict == 'no' then
    if claim.o == 'drop' then
      skip(id, queue, func, claim)
    elseif claim.o == 'reject' then
      quarantine_job(id, queue, func, 'duplicate', 'the same is running: ' .. string.gsub(claim.i, SEP, ' '))
    elseif claim.o == 'reschedule' then
      if not put_off(id, queue, func, claim.i, claim.ra, since) then
        quarantine_job(id, queue, func, 'duplicate', 'put off ' .. MOST_RESCHEDULES .. ' times: the same is running')
      end
    elseif claim.mw > 0 and NOW - since >= claim.mw then
      quarantine_job(id, queue, func, 'waited', 'waited too long for ' .. string.gsub(claim.i, SEP, ' '))
    else
      park(id, queue, func, claim, since, due)
    end
    return 'next'
  end
  local lasts = span_of(claims, span)
  if simple == 1 then lasts = (math.max(math.min(num(got[6], 180), 31622400), 0) + 60) * 1000000 end
  if not got[3] then adopt_flag = 1 end
  start({id = id, queue = queue, func = func, token = token, worker = worker, claims = claims, span = lasts,
    simple = simple, iso = iso, seconds = seconds, since = since, adopting = not got[3], uniques = specs})
  return 'started'
end

-- touched_by(id): the instances that a job asks for
local function touched_by(id)
  local got, found = redis.call('HMGET', K.rq_job .. id, F.claims, F.uniques), {}
  for _, raw in ipairs(got) do
    for _, claim in ipairs(decoded(raw) or {}) do found[#found + 1] = type(claim) == 'table' and claim.i or nil end
  end
  return found
end

for _, queue in ipairs(queues) do attempt(begin_serving, queue) end
end_due_leases(20)
run_pump(20)
for _, queue in ipairs(queues) do
  if not paused_queue(queue) then
    attempt(move_due, queue, iso, 20)
    attempt(recheck_parked, queue, 20)
  end
end

local budget, at, unreadable = 200, 1, {}
while at <= #queues and budget > 0 do
  local queue = queues[at]
  local id = not unreadable[queue] and not paused_queue(queue) and redis.pcall('LINDEX', K.rq_queue .. queue, 0)
  if type(id) ~= 'string' then
    if type(id) == 'table' then PROBLEM = PROBLEM or {why = id.err, instances = {}} end
    at = at + 1
  else
    budget = budget - 1
    local ok, done = attempt(consider, queue, id)
    if not ok then
      -- its queue waits until it is put right; the others do not
      abort(id, queue, token, touched_by(id))
      unreadable[queue], PROBLEM.job = true, PROBLEM.job or id
    elseif done == 'started' then
      if redis.call('GET', K.keeper) == worker then redis.call('DEL', K.keeper) end
      for _, other in ipairs(queues) do
        if has_work(other) and ring(other) then break end
      end
      return answer(id, queue, adopt_flag, 0)
    elseif done == 'look' then
      at = 1
    end
  end
end

if PROBLEM then
  alive('idle')
  return problem_reply(queues)
end
-- nothing to run: wait for the bell; one idle worker, the keeper, only until the next due time
local parked, wait, parents = 0, -1, 0
local function dependents_wait()
  if redis.call('EXISTS', K.parents) == 1 then return 1 end
  for _, queue in ipairs(queues) do
    if redis.call('EXISTS', K.rq_ready .. queue) == 1 then return 1 end
  end
  return 0
end
for _, queue in ipairs(queues) do parked = parked + redis.call('ZCARD', K.parked .. queue) end
if idle then
  alive('idle')
  redis.call('HSET', K.worker_queues, worker, ARGV[4])
  for _, queue in ipairs(queues) do redis.call('ZADD', K.idle .. queue, int(NOW), worker) end
  if redis.call('SET', K.keeper, worker, 'NX', 'PX', 1500) or redis.call('GET', K.keeper) == worker then
    redis.call('PEXPIRE', K.keeper, 1500)
    parents = dependents_wait()
    local function sooner(key, scale)
      local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
      if head[2] and head[2] ~= 'inf' then
        -- what is overdue is somebody else's to move; it is not asked for again at once
        local left = tonumber(head[2]) * scale - NOW
        if left <= 0 then left = 100000 end
        if wait < 0 or left < wait then wait = left end
      end
    end
    sooner(K.pump, 1)
    sooner(K.lease_ends, 1)
    for _, queue in ipairs(queues) do
      if not paused_queue(queue) then
        sooner(K.rq_scheduled .. queue, 1000000)
        sooner(K.parked .. queue, 1)
      end
    end
  end
else
  parents = dependents_wait()
end
return {'EMPTY', int(wait), parked, budget == 0 and 1 or 0, parents}
