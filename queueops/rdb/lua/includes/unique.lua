-- Uniqueness. h:<unique instance> holds the id of the one job that counts, scored by the end of its ttl (µs, 'inf': as
-- long as the job is open). r:<unique instance>: by_time names the holder whose lock only its ttl ends, ran that it has
-- started; next the one job that is to follow a running holder, though it is not in the line (scheduled, deferred). Jobs
-- that wait for the lock stand in its line. On the job: a list of {i instance, t text, l freed at 'start' | 'end' | 'ttl', e ttl µs,
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

-- listed(id, list): of a long list it is taken for granted
local function listed(id, list)
  if redis.call('LLEN', list) > 10000 then return true end
  return redis.call('LPOS', list, id) or redis.call('LPOS', list .. ':intermediate', id)
end

-- job_waits(id) -> does it wait? is it open? A job that is not on its list, or that was reserved for and never saved,
-- vanished. One that is about to run in its caller, or to be saved by RQ, has a minute for it.
local function job_waits(id)
  local got = redis.call('HMGET', K.rq_job .. id, 'status', 'origin', F.parked, F.reserved)
  local status, queue = got[1], got[2] or ''
  if redis.call('HEXISTS', K.running, id) == 1 or status == 'started' then return false, true end
  if not OPEN[status or ''] then return false, false end
  local about_to = got[4] and NOW - num(got[4], 0) <= 60000000
  if status == 'queued' and not got[3] and not about_to and not listed(id, K.rq_queue .. queue) then return false, false end
  if status == 'deferred' and got[4] and not about_to and not redis.call('ZSCORE', K.rq_deferred .. queue, id) then
    return false, false
  end
  return true, true
end

local unique_take
-- due_of(id): when it may run (µs)
local function due_of(id)
  local got = redis.call('HMGET', K.rq_job .. id, 'origin', F.parked)
  local at = not got[2] and redis.call('ZSCORE', K.rq_scheduled .. (got[1] or ''), id)
  return at and math.max(tonumber(at) * 1000000, NOW) or NOW
end

-- pass_on(instance, id): the lock is free of that job: the one that was to follow has it; those in the line are woken
local function pass_on(instance, id)
  local follows = redis.call('HGET', K.rate .. instance, 'next')
  redis.call('DEL', K.rate .. instance)
  if not follows or follows == id or not job_waits(follows) then return end
  local got = redis.call('HMGET', K.rq_job .. follows, F.uniques, F.parked)
  if got[2] == instance then return end
  for _, spec in ipairs(uniques(got[1])) do
    if spec.i == instance then unique_take(spec, follows, due_of(follows)) end
  end
end

-- unique_holder(instance) -> the job that counts, does it wait, is only time going to end it; nil when there is none
local function unique_holder(instance)
  for _ = 1, 2 do
    local head = redis.call('ZRANGE', K.holders .. instance, 0, 0, 'WITHSCORES')
    local id = head[1]
    if not id then return nil end
    local ends = head[2] == 'inf' and math.huge or tonumber(head[2])
    local got = redis.call('HMGET', K.rate .. instance, 'by_time', 'ran')
    local by_time = got[1] == id
    local waits, open = job_waits(id)
    -- while its job waits no lock ends; one that only time ends lasts through the run, and after it if there was one
    if waits or (by_time and open) or (ends > NOW and (open or (by_time and got[2] == id))) then return id, waits, by_time end
    redis.call('ZREM', K.holders .. instance, id)
    log(ends <= NOW and 'unique.expired' or 'unique.taken_over', {c = instance, job = id,
      why = ends > NOW and 'its job vanished without a recorded end' or nil})
    pass_on(instance, id)
  end
  return nil
end

-- unique_take(spec, id, due): due (µs) is when the job may run
unique_take = function(spec, id, due)
  local ends = spec.e > 0 and math.max(due, NOW) + spec.e
  redis.call('ZADD', K.holders .. spec.i, ends and int(ends) or '+inf', id)
  redis.call('ZADD', K.instances, int(NOW), spec.i)
  if string.find(spec.i, SEP .. '#', 1, true) and spec.t then redis.call('HSET', K.key_text, spec.i, spec.t) end
  if spec.l == 'ttl' then
    redis.call('HSET', K.rate .. spec.i, 'by_time', id)
    redis.call('HDEL', K.rate .. spec.i, 'ran')
    redis.call('PERSIST', K.rate .. spec.i)
    redis.call('PERSIST', K.holders .. spec.i)
  end
  if ends then pump_at(spec.i, ends) end
  log('unique.acquired', {c = spec.i, job = id})
end

-- unique_conflict(specs, id) -> spec, holder, does it wait: a lock that another job holds; or, of a job that has ended, a
-- lock that only time ends. One that turns the newer call away comes before those that it would take over: nothing is
-- taken from a job for a call that is then not accepted. A holder that goes anyway turns nobody away.
local function unique_conflict(specs, id)
  local found, goes = {}, {}
  for _, spec in ipairs(specs) do
    local holder, waits, by_time = unique_holder(spec.i)
    if holder and (holder ~= id or (by_time and not waits and redis.call('HEXISTS', K.running, id) == 0)) then
      local takes = (spec.c == 'replace' or spec.c == 'coalesce') and holder ~= id and (waits or spec.l ~= 'ttl')
      if takes and waits then goes[holder] = true end
      found[#found + 1] = {spec, holder, waits, takes}
    end
  end
  for _, one in ipairs(found) do
    if not one[4] and not goes[one[2]] then return one[1], one[2], one[3] end
  end
  if found[1] then return found[1][1], found[1][2], found[1][3] end
  return nil
end

-- take_uniques(specs, id, due[, anew]): those that it does not hold yet; anew: a ttl begins anew, too
local function take_uniques(specs, id, due, anew)
  for _, spec in ipairs(specs) do
    if (anew and spec.l == 'ttl') or not redis.call('ZSCORE', K.holders .. spec.i, id) then unique_take(spec, id, due) end
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
  pass_on(instance, id)
  log(event or 'unique.released', {c = instance, job = id})
  if redis.call('EXISTS', K.line .. instance) == 1 then wake_unique(instance) else forget_if_empty(instance) end
  return true
end

-- unique_end(specs, id, told): the job has ended for good, or is set aside; told: say so when a lock was not there
local function unique_end(specs, id, told)
  for _, spec in ipairs(specs) do
    if spec.l == 'ttl' then
      local ends = tonumber(redis.call('ZSCORE', K.holders .. spec.i, id))
      local ran = redis.call('HGET', K.rate .. spec.i, 'ran') == id
      if ends and (ends <= NOW or not ran) then
        unique_free(spec.i, id, ran and 'unique.expired' or nil)
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
  for _, spec in ipairs(specs) do
    if spec.l == 'start' then
      unique_free(spec.i, id)
    elseif spec.l == 'ttl' and redis.call('HGET', K.rate .. spec.i, 'by_time') == id then
      redis.call('HSET', K.rate .. spec.i, 'ran', id)
    end
  end
end

-- unique_again(specs, id[, anew]): the job waits again; a lock that was freed at its start is taken again if nobody has
-- it; anew: it is a new job but for its id, and the ttl of a lock begins anew, too
local function unique_again(specs, id, anew)
  for _, spec in ipairs(specs) do
    if spec.l == 'start' or (anew and spec.l == 'ttl') then
      local holder = unique_holder(spec.i)
      if not holder or (anew and holder == id) then unique_take(spec, id, due_of(id)) end
    end
  end
end

-- note_accepted(specs): a call of this kind is to be worked off
local function note_accepted(specs)
  if specs[1] then
    redis.call('HSET', K.fresh .. specs[1].i, 'accepted', int(NOW))
    redis.call('EXPIRE', K.fresh .. specs[1].i, 604800)
  end
end

-- note_completed(specs, began): a run of this kind has completed; of runs side by side the one that began last is kept
local function note_completed(specs, began)
  if specs[1] then
    local key = K.fresh .. specs[1].i
    if num(redis.call('HGET', key, 'began'), 0) <= began then
      redis.call('HSET', key, 'began', int(began), 'completed', int(NOW))
    end
    redis.call('EXPIRE', key, 604800)
  end
end

-- put_off(id, queue, func, spec, holder, since) -> true, or false when that was the last time: to be tried again later
local function put_off(id, queue, func, instance, delay, since)
  if redis.call('HINCRBY', K.rq_job .. id, F.reschedules, 1) > MOST_RESCHEDULES then return false end
  park(id, queue, func, {i = instance, ra = delay, mw = 0}, since, nil, 'rescheduled')
  return true
end
