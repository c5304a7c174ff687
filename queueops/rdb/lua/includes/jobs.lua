-- What may happen to a job besides waiting: quarantine, the end of its lease, a crash.
local function policy_of(raw)
  local policy = {after = C.after, crashes = C.crashes}
  local own = decoded(raw)
  if own then policy.after, policy.crashes = num(own.after, policy.after), num(own.crashes, policy.crashes) end
  return policy
end

-- lease_of(token): the record of a lease, nil if there is none; one that cannot be read is taken away
local function lease_of(token)
  local raw = redis.call('HGET', K.leases, token)
  if not raw then return nil end
  local r = decoded(raw)
  if r and type(r.job) == 'string' and type(r.queue) == 'string' and type(r['function']) == 'string' and
    type(r.worker) == 'string' and num(r.started) and num(r.span) and type(r.holds) == 'table' then return r end
  redis.call('HDEL', K.leases, token)
  redis.call('ZREM', K.lease_ends, token)
  log('lease.undecodable', {t = string.sub(token, 1, 8), why = string.sub(raw, 1, 200)})
  return nil
end

-- leave_quarantine(id, queue): somebody put a quarantined job back by other means than replay
local function leave_quarantine(id, queue)
  redis.call('ZREM', K.quarantined .. queue, id)
  redis.call('ZREM', K.rq_failed .. queue, id)
  redis.call('HDEL', K.quarantine_info, id)
  redis.call('SADD', K.quarantine_todo, id)
  redis.call('HDEL', K.rq_job .. id, F.quarantined)
end

-- quarantine_job(id, queue, func, kind, why[, error[, event]]): the caller has taken it off list and lease. For RQ it is
-- failed, in its failed registry without expiry; our membership comes on top. It gives its unique locks back.
local function quarantine_job(id, queue, func, kind, why, error, event)
  local key = K.rq_job .. id
  local got = redis.call('HMGET', key, F.attempts, F.crashes, F.failures, F.error, F.replays, F.uniques)
  redis.call('HSET', key, 'status', 'failed', F.quarantined, why)
  redis.call('HDEL', key, F.since)
  if not redis.call('HGET', key, 'origin') then redis.call('HSET', key, 'origin', queue) end
  redis.call('PERSIST', key)
  redis.call('ZADD', K.rq_failed .. queue, '+inf', id)
  redis.call('ZADD', K.quarantined .. queue, int(NOW), id)
  redis.call('ZREM', K.waiting .. queue, id)
  redis.call('ZREM', K.expiring, id)
  redis.call('HSET', K.quarantine_info, id, string.format(
    '{"queue":%s,"function":%s,"kind":%s,"reason":%s,"error":%s,"fingerprint":%s,"attempts":%d,"crashes":%d,"failures":%d,"replays":%d,"at":%.0f}',
    cjson.encode(queue), cjson.encode(func), cjson.encode(kind), cjson.encode(why), cjson.encode(error or ''),
    cjson.encode(got[4] or ''), num(got[1], 0), num(got[2], 0), num(got[3], 0),
    num(got[5], 0), NOW))
  redis.call('SADD', K.quarantine_todo, id)
  if got[6] then unique_end(uniques(got[6]), id) end
  -- those that run whatever becomes of it
  if redis.call('EXISTS', key .. ':dependents') == 1 then redis.call('SADD', K.parents, id) end
  -- one that is turned away at the enqueue door was never open
  count(queue, func, event or 'quarantined')
  log('job.quarantined', {job = id, f = func, q = queue, why = why})
end

-- gone(id, queue, func): an id without its hash; one with a ttl has expired, of another nothing is known
local function gone(id, queue, func)
  redis.call('ZREM', K.waiting .. queue, id)
  local event = redis.call('ZREM', K.expiring, id) == 1 and 'expired' or 'gone'
  count(queue, func or '', event)
  log('job.' .. event, {job = id, q = queue, f = func})
end

-- reserve(record): a job that comes back keeps its room for the time of an offer, before any waiter younger than it
local function reserve(record)
  if paused_queue(record.queue) or paused_function(record['function']) then return end
  for _, hold in ipairs(record.holds) do
    if string.sub(hold[1], 1, 1) ~= 'R' then
      slot_add(K.offers, K.offer_weights, hold[1], record.job, hold[2], NOW + C.offer)
      pump_at(hold[1], NOW + C.offer)
    end
  end
end

-- end_lease(token, record): the lease and RQ's traces of the execution go, the holds come back, and an id that
-- turned up on a queue meanwhile is put there again
local function end_lease(token, record)
  redis.call('HDEL', K.leases, token)
  redis.call('ZREM', K.lease_ends, token)
  if redis.call('HGET', K.running, record.job) == token then redis.call('HDEL', K.running, record.job) end
  local execution = record.job .. ':' .. token
  redis.call('DEL', K.rq_execution .. execution)
  redis.pcall('ZREM', K.rq_wip .. record.queue, execution)
  redis.pcall('ZREM', K.rq_executions .. record.job, token)
  redis.pcall('SREM', K.rq_worker .. record.worker .. ':executions', execution)
  release(record.holds, token, {job = record.job, f = record['function'], q = record.queue, w = record.worker})
  local again = redis.call('HGET', K.again, record.job)
  if again then
    redis.call('HDEL', K.again, record.job)
    if redis.call('SREM', K.renewed_call, record.job) == 1 and redis.call('EXISTS', K.rq_job .. record.job) == 1 then
      redis.call('HSET', K.rq_job .. record.job, 'status', 'queued')
      redis.call('HDEL', K.rq_job .. record.job, F.since)
      redis.call('PERSIST', K.rq_job .. record.job)
    end
    redis.call('RPUSH', K.rq_queue .. again, record.job)
    ring(again)
  end
end

-- put_back(id, queue, func, why, specs): a start that does not count: to the front, the attempt taken back
local function put_back(id, queue, func, why, specs)
  local key = K.rq_job .. id
  unique_again(specs, id)
  redis.call('HINCRBY', key, F.attempts, -1)
  redis.call('PERSIST', key)
  redis.call('ZADD', K.waiting .. queue, redis.call('HGET', key, F.since) or int(NOW), id)
  to_front(id, queue)
  count(queue, func, 'put_back')
  log('job.put_back', {job = id, f = func, q = queue, why = why})
end

-- begin(queue, func, since, fields): a start counts once the job has all it claims
local function begin(queue, func, since, fields)
  count(queue, func, 'started')
  observe(queue, func, 'w', NOW - since)
  log('job.started', fields)
end

-- begin_late(token, record): one that ends before it was adopted counts at its end, so that each end has its start
local function begin_late(token, record)
  if record.adopting ~= 1 then return end
  local since = tonumber(redis.call('HGET', K.rq_job .. record.job, F.since)) or record.started
  begin(record.queue, record['function'], math.min(since, record.started), {job = record.job, f = record['function'],
    q = record.queue, w = record.worker, t = string.sub(token, 1, 8)})
end

-- on_the_list(id, queue): what was put there lately lies near an end; a long list is not searched in the middle
local function on_the_list(id, queue)
  for _, list in ipairs({K.rq_queue .. queue, K.rq_queue .. queue .. ':intermediate'}) do
    for _, from in ipairs({-1, 1}) do
      if redis.call('LPOS', list, id, 'RANK', from, 'MAXLEN', 100000) then return true end
    end
  end
  return redis.call('HEXISTS', K.again, id) == 1
end

-- told_elsewhere(token, record, status, worker) -> has somebody else (RQ's clean-up, a cancel) recorded what becomes of
-- the job? As long as nobody has, the run stands in RQ's registry. The status alone proves nothing: user code that saves
-- a job which it fetched before the start writes the old one.
local ENDED = {finished = 1, failed = 1, canceled = 1, stopped = 1}
local function told_elsewhere(token, record, status, worker)
  local id, queue = record.job, record.queue
  if type(redis.pcall('ZSCORE', K.rq_wip .. queue, id .. ':' .. token)) == 'string' then
    return status == 'canceled' and redis.call('ZSCORE', K.rq_canceled .. queue, id) ~= false
  end
  if status == 'started' then return record.worker ~= '' and worker ~= record.worker end
  if status == 'queued' then return on_the_list(id, queue) end
  local registry = {scheduled = K.rq_scheduled, deferred = K.rq_deferred, ready_to_enqueue = K.rq_ready}
  if registry[status] then return redis.call('ZSCORE', registry[status] .. queue, id) ~= false end
  return ENDED[status] ~= nil or status == 'rate_limited'
end

-- abort(id, queue, token, instances): after a failure half way: no lease, no hold, and an open job stands on its queue
local function abort(id, queue, token, instances)
  local key, list = K.rq_job .. id, K.rq_queue .. queue
  blame(instances)
  redis.pcall('HDEL', K.leases, token)
  redis.pcall('ZREM', K.lease_ends, token)
  if redis.pcall('HGET', K.running, id) == token then redis.pcall('HDEL', K.running, id) end
  for _, instance in ipairs(instances) do
    pcall(slot_remove, K.holders, K.holder_weights, instance, token)
    pcall(pump_at, instance, NOW)
  end
  local status = redis.pcall('HGET', key, 'status')
  if type(status) ~= 'string' or ENDED[status] or redis.call('HSTRLEN', key, 'data') == 0 then return end
  if redis.pcall('LINDEX', list, 0) == id then return end
  redis.call('HSET', key, 'status', 'queued')
  redis.call('PERSIST', key)
  redis.pcall('LPUSH', list, id)
end
local function held_by(record)
  local found = {}
  for _, hold in ipairs(record.holds) do found[#found + 1] = hold[1] end
  return found
end

-- crash(token, record, why) -> what it counted, 'crashed' for a job that is gone or cancelled: the process is gone without a word. What somebody else has
-- recorded of the job holds; else it returns to the front until it has crashed too often within a day.
local function crash(token, record, why)
  why = why or 'no reason told'
  local id, queue, func = record.job, record.queue, record['function']
  local key = K.rq_job .. id
  begin_late(token, record)
  local got = redis.call('HMGET', key, 'status', 'data', F.crashes, F.crash_at, F.policy, 'worker_name')
  local status = got[1]
  if got[2] and not told_elsewhere(token, record, status, got[6]) then
    local crashes, first = num(got[3], 0), num(got[4], 0)
    if NOW - first > 86400000000 then crashes, first = 0, NOW end
    crashes = crashes + 1
    redis.call('HSET', key, F.crashes, crashes, F.crash_at, int(first))
    local poison = crashes >= policy_of(got[5]).crashes
    if not poison then reserve(record) end
    end_lease(token, record)
    count(queue, func, 'crashed')
    log('job.crashed', {job = id, f = func, q = queue, w = record.worker, t = string.sub(token, 1, 8), why = why})
    if poison then
      quarantine_job(id, queue, func, 'crashes', 'worker died ' .. crashes .. ' times (' .. why .. ')')
    else
      redis.call('PERSIST', key)
      unique_again(record.uniques or {}, id)
      redis.call('ZADD', K.waiting .. queue, redis.call('HGET', key, F.since) or int(NOW), id)
      to_front(id, queue)
    end
    return poison and 'quarantined' or 'crashed'
  end
  if not got[2] then
    if status then redis.call('DEL', key) end
    end_lease(token, record)
    unique_end(record.uniques or {}, id)
    gone(id, queue, func)
    return 'crashed'
  end
  -- RQ may have died before it put the last of the dependents on their queues
  if not OPEN[status or ''] then redis.call('SADD', K.parents, id) end
  end_lease(token, record)
  if not OPEN[status or ''] then unique_end(record.uniques or {}, id) end
  if status == 'finished' then
    count(queue, func, 'completed')
    log('job.completed', {job = id, f = func, q = queue, w = record.worker, why = 'ended with ' .. why})
    return 'completed'
  elseif status == 'failed' or status == 'stopped' then
    count(queue, func, 'failed_attempt')
    count(queue, func, 'failed')
    log('job.failed', {job = id, f = func, q = queue, w = record.worker, why = 'ended with ' .. why})
    return 'failed'
  elseif status == 'canceled' then
    count(queue, func, 'cancelled')
    log('job.cancelled', {job = id, f = func, q = queue})
  else
    count(queue, func, 'failed_attempt')
    count(queue, func, 'retried')
    return 'retried'
  end
  return 'crashed'
end

-- lapse(token, record, why) -> as crash: one lease that cannot be ended in good order keeps no other from ending
local function lapse(token, record, why)
  local ok, outcome = attempt(crash, token, record, why)
  if not ok then abort(record.job, record.queue, token, held_by(record)) end
  return ok and outcome or 'crashed'
end
