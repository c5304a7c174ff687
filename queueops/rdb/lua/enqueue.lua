-- The enqueue door: unique locks, job hash, push, waiting index, ledger and bell in one step.
-- ARGV: mode (queue|schedule|sync|deferred|reserve), id, queue, at front (0|1), due (s, or '+s' from now; for schedule),
--       function, ttl (s, 0: none), unique (0|1: RQ's own, of the id), unique claims (JSON, '': none), then field, value,
--       ... of the job hash
-- reserve: takes the free unique locks of a job that RQ is about to save with its dependencies; deferred: RQ has saved it,
--       and now it takes the place of older ones. A process that dies in between has taken nothing from anybody.
-- Returns {'OK', jobs on the list} | {'EXISTS'} | {'DUPLICATE', status of the open job with this id}
--       | {'HELD', id of the holder, on conflict} | {'REJECTED', id of the holder}: this job is quarantined
--       | {'COALESCED', id of the waiting job that has its arguments now} | {'WAITS', id of the holder}
-- Events: (counted) accepted, duplicate, rejected, superseded; job.duplicate, .superseded, .parked, .quarantined; unique.*
--- include time
--- include guard
--- include log
--- include count
--- include bell
-- out of memory, read only: the first write says so, before anything is changed
redis.call('SET', K.touched, 1)
local mode, id, queue, front, due, func, ttl, unique, specs = unpack(ARGV, 1, 9)
local key, FIRST = K.rq_job .. id, 10
if mode == 'deferred' then
  redis.call('HDEL', key, F.reserved)
  if redis.call('HDEL', key, F.uncounted) == 1 then count(queue, func, 'accepted') end
  redis.call('ZADD', K.queues, int(NOW), queue)
  specs = redis.call('HGET', key, F.uniques) or ''
  if specs == '' then return {'OK', 0} end
end
local function given(name)
  for i = FIRST, #ARGV, 2 do if ARGV[i] == name then return ARGV[i + 1] end end
end
local old = redis.call('HMGET', key, 'status', F.quarantined, 'origin', 'created_at')
if old[1] and mode ~= 'deferred' then
  -- the same call again, since its answer was lost: the job may have run and ended by now
  if old[4] and old[4] == given('created_at') then return {'OK', redis.call('LLEN', K.rq_queue .. queue)} end
  if unique == '1' then return {'EXISTS'} end
  local open = {queued = 1, scheduled = 1, started = 1, deferred = 1, rate_limited = 1, ready_to_enqueue = 1}
  if open[old[1]] or redis.call('HEXISTS', K.running, id) == 1 then
    count(queue, func, 'duplicate')
    log('job.duplicate', {job = id, f = func, q = queue, why = 'this id is ' .. old[1]})
    return {'DUPLICATE', old[1]}
  end
end
local function due_at()
  if mode ~= 'schedule' then return NOW end
  if string.sub(due, 1, 1) == '+' then due = string.format('%.6f', NOW / 1000000 + tonumber(string.sub(due, 2))) end
  return tonumber(due) * 1000000
end
local saved = false
local function save()
  saved = true
  if old[1] then
    local origin = old[3] or queue
    redis.call('ZREM', K.rq_failed .. origin, id)
    redis.call('ZREM', K.rq_finished .. origin, id)
    redis.call('ZREM', K.rq_canceled .. origin, id)
    if old[2] then
      redis.call('ZREM', K.quarantined .. origin, id)
      redis.call('HDEL', K.quarantine_info, id)
      redis.call('SADD', K.quarantine_todo, id)
    end
    redis.call('DEL', key)
  end
  for i = FIRST, #ARGV, 1000 do redis.call('HSET', key, unpack(ARGV, i, math.min(i + 999, #ARGV))) end
  redis.call('SADD', K.rq_queues, K.rq_queue .. queue)
  redis.call('ZADD', K.queues, int(NOW), queue)
end
local function accept()
  if mode == 'reserve' then
    redis.call('HSET', key, 'status', 'deferred', F.reserved, int(NOW), F.uncounted, 1)
    return {'OK', 0}
  end
  if tonumber(ttl) > 0 then
    redis.call('EXPIRE', key, ttl)
    redis.call('ZADD', K.expiring, int(NOW + tonumber(ttl) * 1000000), id)
  end
  count(queue, func, 'accepted')
  if mode == 'schedule' then
    due_at()
    redis.call('ZADD', K.rq_scheduled .. queue, due, id)
    return {'OK', 0}
  end
  redis.call('HSET', key, F.since, int(NOW))
  if mode == 'sync' then
    -- on no list, and not running before its caller has taken it
    if specs ~= '' then redis.call('HSET', key, F.reserved, int(NOW)) end
    return {'OK', 0}
  end
  redis.call('ZADD', K.waiting .. queue, int(NOW), id)
  local length = redis.call(front == '1' and 'LPUSH' or 'RPUSH', K.rq_queue .. queue, id)
  ring(queue)
  return {'OK', length}
end
-- in_whole(f): what f answers; when it fails half way nothing is left behind, so that the call can be repeated
local function in_whole(f)
  local ok, answer = attempt(f)
  if ok then return answer end
  if saved then redis.call('DEL', key) end
  return problem_reply({queue})
end
local function plainly()
  save()
  return accept()
end
if specs == '' then return in_whole(plainly) end

--- include record
--- include slots
--- include controls
--- include pauses
--- include line
--- include jobs
--- include withdraw
--- include supersede
specs = uniques(specs)
local fields = {job = id, f = func, q = queue}
local function duplicate(spec, holder)
  count(queue, func, 'duplicate')
  fields.c, fields.why = spec.i, 'held by ' .. holder
  log('job.duplicate', fields)
  return {'HELD', holder, spec.c}
end
-- one that follows already, and is not replaced, is what this call depends on
local function follow(instance)
  local follows = redis.call('HGET', K.rate .. instance, 'next')
  if not follows or not job_waits(follows) then redis.call('HSET', K.rate .. instance, 'next', id) end
end
-- the job waits in the line of the lock; a scheduled one comes to it when it is due
local function wait_for(spec, holder)
  save()
  follow(spec.i)
  if mode == 'schedule' then return accept() end
  count(queue, func, 'accepted')
  park(id, queue, func, {i = spec.i, t = spec.t, mw = 0}, NOW, nil, 'unique: waits for ' .. holder)
  return {'WAITS', holder}
end
-- The waiting job becomes the newer one in all but its id, its place and its dependencies.
local STAYS = {status = 1, origin = 1, created_at = 1, enqueued_at = 1, started_at = 1, ended_at = 1, last_heartbeat = 1,
  worker_name = 1, dependency_id = 1, dependency_ids = 1, group_id = 1}
local COMES = {[F.claims] = 1, [F.func] = 1, [F.policy] = 1, [F.tags] = 1, [F.uniques] = 1}
local function comes(name) return COMES[name] or not (STAYS[name] or string.sub(name, 1, 3) == 'qo_') end
local function coalesce(target)
  local target_key = K.rq_job .. target
  local before = redis.call('HMGET', target_key, F.claims, F.parked, 'origin', F.func, F.uniques)
  local place, older = before[3] or queue, before[4] or func
  for _, name in ipairs(redis.call('HKEYS', target_key)) do
    if comes(name) and not given(name) then redis.call('HDEL', target_key, name) end
  end
  for i = FIRST, #ARGV, 2 do
    if comes(ARGV[i]) then redis.call('HSET', target_key, ARGV[i], ARGV[i + 1]) end
  end
  redis.call('HDEL', target_key, F.attempts, F.failures, F.crashes, F.crash_at, F.error, F.error_line, F.reschedules)
  if tonumber(ttl) > 0 then
    redis.call('EXPIRE', target_key, ttl)
    redis.call('ZADD', K.expiring, int(NOW + tonumber(ttl) * 1000000), target)
  else
    redis.call('PERSIST', target_key)
    redis.call('ZREM', K.expiring, target)
  end
  -- its locks are those of the newer arguments
  local asked = {}
  for _, spec in ipairs(specs) do asked[spec.i] = true end
  for _, spec in ipairs(uniques(before[5])) do
    if not asked[spec.i] then unique_free(spec.i, target) end
  end
  for _, spec in ipairs(specs) do
    local other, waits = unique_holder(spec.i)
    -- the lock that it waits for stays its holder's
    if other and other ~= target and waits and follower(spec.i) ~= target and (spec.c == 'coalesce' or spec.c == 'replace')
      and not descends(target, redis.call('HGET', target_key, 'dependency_ids'), other) then
      supersede(other, target)
      other = nil
    end
    if not other then unique_take(spec, target, due_of(target)) end
  end
  -- it stood in the line of a control that the newer arguments do not ask for
  local parked = before[2]
  if parked and parked ~= '' and string.sub(parked, 1, 2) ~= 'U:' and before[1] ~= given(F.claims) then
    woken(target, place, func, parked)
  end
  count(place, func, 'accepted')
  count(place, older, 'superseded')
  log('job.superseded', {job = target, f = older, q = place, why = 'newer arguments'})
  note_accepted(specs)
  return {'COALESCED', target}
end
-- the locks that are free; those of older calls are taken over once RQ has saved the job
local function reserve()
  save()
  for _, spec in ipairs(specs) do
    if not unique_holder(spec.i) then unique_take(spec, id, NOW) end
  end
  return accept()
end
-- RQ has saved the job: it takes the place of older calls. One with dependencies of its own becomes part of no other job.
local function take_over()
  local got = redis.call('HMGET', key, 'status', 'dependency_ids')
  if not OPEN[got[1] or ''] then return {'OK', 0} end
  for _, spec in ipairs(specs) do
    local holder, waits = unique_holder(spec.i)
    local takes = (spec.c == 'replace' or spec.c == 'coalesce') and (waits or spec.l ~= 'ttl')
    if holder and holder ~= id and takes then
      local waiting, behind = place_of(spec, id, got[2], holder, waits)
      if waiting then supersede(waiting, id) end
      if behind then
        follow(spec.i)
      elseif redis.call('HGET', key, F.parked) == spec.i then
        wake_unique(spec.i)
      else
        unique_take(spec, id, due_of(id))
      end
    end
  end
  note_accepted(specs)
  return {'OK', 0}
end
local function uniquely()
  for _ = 1, 2 * #specs do
    local spec, holder, waits = unique_conflict(specs, id)
    if not spec then break end
    local c = spec.c
    if mode == 'sync' and c ~= 'reject' then c = 'log' end
    if c == 'reject' then
      save()
      quarantine_job(id, queue, func, 'duplicate', 'duplicate of ' .. holder, nil, 'rejected')
      return {'REJECTED', holder}
    elseif holder == id or spec.l == 'ttl' and not waits and (c == 'replace' or c == 'coalesce') then
      return duplicate(spec, holder) -- the work was done already: nothing is left to replace
    elseif (c == 'replace' or c == 'coalesce') and mode == 'reserve' then
      return reserve()
    elseif c == 'replace' or c == 'coalesce' then
      local waiting, behind = place_of(spec, id, given('dependency_ids'), holder, waits)
      if waiting and c == 'coalesce' then return coalesce(waiting) end
      if waiting then supersede(waiting, id) end
      if behind then
        note_accepted(specs)
        return wait_for(spec, holder)
      end
    elseif c == 'reschedule' then
      save()
      if mode == 'schedule' or mode == 'reserve' then return accept() end
      count(queue, func, 'accepted')
      note_accepted(specs)
      put_off(id, queue, func, spec.i, spec.d, NOW)
      return {'WAITS', holder}
    else
      return duplicate(spec, holder)
    end
  end
  save()
  take_uniques(specs, id, due_at())
  note_accepted(specs)
  return accept()
end
return in_whole(mode == 'deferred' and take_over or uniquely)
