-- What time alone brings: ended leases, room in a line, scheduled jobs, parked jobs that are looked at again.
--- include iso
local function end_due_leases(most)
  local tokens = redis.call('ZRANGEBYSCORE', K.lease_ends, '-inf', int(NOW), 'LIMIT', 0, most)
  for _, token in ipairs(tokens) do
    local record = lease_of(token)
    if record then
      log('lease.expired', {job = record.job, f = record['function'], q = record.queue, w = record.worker, t = string.sub(token, 1, 8)})
      lapse(token, record, 'lease ended')
    else
      redis.call('ZREM', K.lease_ends, token)
    end
  end
  return #tokens
end

local function run_pump(most)
  local due = redis.call('ZRANGEBYSCORE', K.pump, '-inf', int(NOW), 'LIMIT', 0, most)
  for _, instance in ipairs(due) do
    redis.call('ZREM', K.pump, instance)
    if string.sub(instance, 1, 2) == 'P:' then
      local func = string.sub(instance, 3, -2)
      if not paused_function(func) and not attempt(let_in, func, 50) then blame({instance}) end
    elseif not attempt(tidy, instance) then
      blame({instance})
    end
  end
  return #due
end

-- Jobs held by RQ's own RateLimit are left to RQ; a parked job's stand-in is moved another hour ahead.
local function move_due(queue, iso, most)
  local now_s = math.floor(NOW / 1000000)
  local due = redis.call('ZRANGEBYSCORE', K.rq_scheduled .. queue, '-inf', string.format('%.6f', NOW / 1000000), 'WITHSCORES', 'LIMIT', 0, most)
  local moved = 0
  for i = 1, #due, 2 do
    local id, key = due[i], K.rq_job .. due[i]
    local got = redis.call('HMGET', key, F.parked, 'rate_limit_key', 'enqueue_at_front', 'ttl', 'status', F.func, 'created_at')
    if called_off(id, queue, got[6] or '', got[5], got[1]) then
      redis.call('ZREM', K.rq_scheduled .. queue, id)
    elseif got[1] then
      redis.call('ZADD', K.rq_scheduled .. queue, int(now_s + 3600), id)
      redis.call('ZADD', K.parked .. queue, 'NX', int(NOW), id) -- where our index has lost it
    elseif not got[5] then
      redis.call('ZREM', K.rq_scheduled .. queue, id)
      gone(id, queue, got[6] or '')
    elseif not got[2] then
      -- a time long past is no wait: it counts from when the job was made
      local since = math.min(math.max(tonumber(due[i + 1]) * 1000000, iso_us(got[7]) or 0), NOW)
      redis.call('HSET', key, 'status', 'queued', 'enqueued_at', iso, F.since, int(since))
      if not got[4] then redis.call('PERSIST', key) end
      redis.call(got[3] == '1' and 'LPUSH' or 'RPUSH', K.rq_queue .. queue, id)
      redis.call('ZREM', K.rq_scheduled .. queue, id)
      redis.call('ZADD', K.waiting .. queue, int(since), id)
      ring(queue)
      moved = moved + 1
    end
  end
  return moved
end

local function recheck_parked(queue, most)
  local due = redis.call('ZRANGEBYSCORE', K.parked .. queue, '-inf', int(NOW), 'LIMIT', 0, most)
  for _, id in ipairs(due) do
    local got = redis.call('HMGET', K.rq_job .. id, F.parked, F.func, F.claims, F.since, 'status')
    local instance, func = got[1], got[2] or ''
    if called_off(id, queue, func, got[5], instance) then
      redis.call('ZREM', K.parked .. queue, id)
    elseif not instance then
      redis.call('ZREM', K.parked .. queue, id)
      if not redis.call('HGET', K.rq_job .. id, 'status') then
        redis.call('ZREM', K.rq_scheduled .. queue, id)
        gone(id, queue, func)
      end
    elseif instance == '' then
      woken(id, queue, func, '')
    else
      local since, longest = tonumber(got[4]) or NOW, 0
      for _, claim in ipairs(sorted_claims(got[3] or '[]') or {}) do
        if claim.i == instance then longest = claim.mw or 0 end
      end
      if longest > 0 and NOW - since >= longest then
        unpark(id, queue, instance)
        pump_at(instance, NOW) -- it may have stood before others
        quarantine_job(id, queue, func, 'waited', 'waited too long for ' .. string.gsub(instance, SEP, ' '))
      else
        local again = NOW + RECHECK
        if longest > 0 then again = math.min(again, since + longest) end
        redis.call('ZADD', K.parked .. queue, int(again), id)
        redis.call('ZADD', K.line .. instance, 'NX', int(since), id) -- where its line has lost it
        pump_at(instance, NOW)
      end
    end
  end
  return #due
end

-- begin_serving(queue): a queue that nobody claimed from lately is served again: all its lines are looked at, 200 parked
-- jobs a call
local function begin_serving(queue)
  local cursor = 'q:' .. queue
  local at = served(queue) and num(redis.call('HGET', K.cursors, cursor)) or nil
  if not served(queue) then at = 0 end
  if at then
    local ids = redis.call('ZRANGE', K.parked .. queue, at, at + 199)
    for _, id in ipairs(ids) do
      local instance = redis.call('HGET', K.rq_job .. id, F.parked)
      if instance and instance ~= '' then pump_at(instance, NOW) end
    end
    if #ids < 200 then redis.call('HDEL', K.cursors, cursor) else redis.call('HSET', K.cursors, cursor, at + 200) end
  end
  redis.call('HSET', K.served, queue, int(NOW))
end
