-- Uniqueness. h:<unique instance> holds the id of the one job that counts, scored by the end of its ttl (µs, 'inf': as
-- long as the job is open). r:<unique instance>.by_time names the holder whose lock only its ttl ends. Jobs that wait
-- for the lock stand in its line. On the job: a list of {i instance, t text, l freed at 'start' | 'end' | 'ttl', e ttl µs,
-- c on conflict, d delay µs}.
local OPEN = {queued = 1, scheduled = 1, started = 1, deferred = 1, rate_limited = 1, ready_to_enqueue = 1}
local MOST_RESCHEDULES = 10
local function uniques(raw)
  local found = {}
  for _, spec in ipairs(raw and raw ~= '' and decoded(raw) or {}) do
    if type(spec) == 'table' and type(spec.i) == 'string' and string.sub(spec.i, 1, 2) == 'U:' then
      spec.e, spec.d = num(spec.e, 0), num(spec.d, 5000000)
      found[#found + 1] = spec
    end
  end
  return found
end

-- job_waits(id) -> does it wait? is it open? A job whose list is empty, or that was reserved for and never saved, vanished.
local function job_waits(id)
  local got = redis.call('HMGET', K.rq_job .. id, 'status', 'origin', F.parked, F.reserved)
  local status, queue = got[1], got[2] or ''
  if redis.call('HEXISTS', K.running, id) == 1 or status == 'started' then return false, true end
  if not OPEN[status or ''] then return false, false end
  local list = K.rq_queue .. queue
  if status == 'queued' and not got[3] and redis.call('EXISTS', list, list .. ':intermediate') == 0 then return false, false end
  if status == 'deferred' and got[4] and NOW - num(got[4], 0) > 60000000 and not redis.call('ZSCORE', K.rq_deferred .. queue, id) then
    return false, false
  end
  return true, true
end

-- unique_holder(instance) -> the job that counts, does it wait, is only time going to end it; nil when there is none
local function unique_holder(instance)
  local head = redis.call('ZRANGE', K.holders .. instance, 0, 0, 'WITHSCORES')
  local id = head[1]
  if not id then return nil end
  local ends = head[2] == 'inf' and math.huge or tonumber(head[2])
  local by_time = redis.call('HGET', K.rate .. instance, 'by_time') == id
  local waits, open = job_waits(id)
  -- while its job waits no lock ends
  if waits or (ends > NOW and (by_time or open)) then return id, waits, by_time end
  redis.call('ZREM', K.holders .. instance, id)
  redis.call('DEL', K.rate .. instance)
  log(ends <= NOW and 'unique.expired' or 'unique.taken_over', {c = instance, job = id,
    why = ends > NOW and 'its job vanished without a recorded end' or nil})
  return nil
end

-- unique_take(spec, id, due): due (µs) is when the job may run
local function unique_take(spec, id, due)
  local ends = spec.e > 0 and math.max(due, NOW) + spec.e
  redis.call('ZADD', K.holders .. spec.i, ends and int(ends) or '+inf', id)
  redis.call('ZADD', K.instances, int(NOW), spec.i)
  if string.find(spec.i, SEP .. '#', 1, true) and spec.t then redis.call('HSET', K.key_text, spec.i, spec.t) end
  if spec.l == 'ttl' then redis.call('HSET', K.rate .. spec.i, 'by_time', id) end
  if ends then pump_at(spec.i, ends) end
  log('unique.acquired', {c = spec.i, job = id})
end

-- unique_conflict(specs, id) -> spec, holder, does it wait: the first lock that another job holds; or, of a job that has
-- ended, a lock that only time ends
local function unique_conflict(specs, id)
  for _, spec in ipairs(specs) do
    local holder, waits, by_time = unique_holder(spec.i)
    if holder and (holder ~= id or (by_time and not waits and redis.call('HEXISTS', K.running, id) == 0)) then
      return spec, holder, waits
    end
  end
  return nil
end

-- take_uniques(specs, id, due): those that it does not hold yet
local function take_uniques(specs, id, due)
  for _, spec in ipairs(specs) do
    if not redis.call('ZSCORE', K.holders .. spec.i, id) then unique_take(spec, id, due) end
  end
end

-- The oldest job that waits for a free lock gets it and stands at the front of its queue.
wake_unique = function(instance)
  for _ = 1, 30 do
    if unique_holder(instance) then return 0, false end
    local head = redis.call('ZRANGE', K.line .. instance, 0, 0, 'WITHSCORES')
    local id, since = head[1], tonumber(head[2])
    if not id then break end
    local job = redis.call('HMGET', K.rq_job .. id, 'origin', F.parked, F.func, F.uniques, 'status')
    local queue, func = job[1] or '', job[3] or ''
    if job[2] ~= instance then
      redis.call('ZREM', K.line .. instance, id)
    elseif not called_off(id, queue, func, job[5], instance) then
      local specs = uniques(job[4])
      local other = unique_conflict(specs, id)
      if other then
        redis.call('ZREM', K.line .. instance, id)
        line_up(id, queue, {i = other.i, t = other.t}, since)
      else
        take_uniques(specs, id, NOW)
        woken(id, queue, func, instance)
        return 1, false
      end
    end
  end
  return 0, false
end

local function unique_free(instance, id, event)
  if redis.call('ZREM', K.holders .. instance, id) == 0 then return false end
  redis.call('DEL', K.rate .. instance)
  log(event or 'unique.released', {c = instance, job = id})
  if redis.call('EXISTS', K.line .. instance) == 1 then wake_unique(instance) else forget_if_empty(instance) end
  return true
end

-- unique_end(specs, id, told): the job has ended for good, or is set aside; told: say so when a lock was not there
local function unique_end(specs, id, told)
  for _, spec in ipairs(specs) do
    if spec.l == 'ttl' then
      local ends = tonumber(redis.call('ZSCORE', K.holders .. spec.i, id))
      if ends and ends <= NOW then
        unique_free(spec.i, id, 'unique.expired')
      elseif ends then
        redis.call('PEXPIRE', K.holders .. spec.i, math.ceil((ends - NOW) / 1000) + 60000)
        redis.call('PEXPIRE', K.rate .. spec.i, math.ceil((ends - NOW) / 1000) + 60000)
        pump_at(spec.i, ends)
      end
    elseif not unique_free(spec.i, id) and told and spec.l == 'end' then
      log('unique.missing', {c = spec.i, job = id, why = 'expired or taken before its job ended'})
    end
  end
end

unique_gone = function(id) unique_end(uniques(redis.call('HGET', K.rq_job .. id, F.uniques)), id) end

-- its ttl has ended: it is free, unless its job still waits
unique_tidy = function(instance)
  wake_unique(instance)
  local ends = redis.call('ZRANGE', K.holders .. instance, 0, 0, 'WITHSCORES')[2]
  if ends and ends ~= 'inf' then pump_at(instance, math.max(tonumber(ends), NOW + RECHECK)) end
  forget_if_empty(instance)
end

-- unique_start(specs, id): the body starts
local function unique_start(specs, id)
  for _, spec in ipairs(specs) do if spec.l == 'start' then unique_free(spec.i, id) end end
end

-- unique_again(specs, id): the job waits again; a lock that was freed at its start is taken again if nobody has it
local function unique_again(specs, id)
  for _, spec in ipairs(specs) do
    if spec.l == 'start' and not unique_holder(spec.i) then unique_take(spec, id, NOW) end
  end
end

-- note_fresh(specs, field): when work of this kind was last accepted or completed
local function note_fresh(specs, field)
  if specs[1] then
    redis.call('HSET', K.fresh .. specs[1].i, field, int(NOW))
    redis.call('EXPIRE', K.fresh .. specs[1].i, 604800)
  end
end

-- put_off(id, queue, func, spec, holder, since) -> true, or false when that was the last time: to be tried again later
local function put_off(id, queue, func, instance, delay, since)
  if redis.call('HINCRBY', K.rq_job .. id, F.reschedules, 1) > MOST_RESCHEDULES then return false end
  park(id, queue, func, {i = instance, ra = delay, mw = 0}, since, nil, 'rescheduled')
  return true
end
