-- Waiting lines. A parked job is off its queue's list, in the line of the control that refused it (or, with
-- release_after, in no line: it comes back by time), in p:<queue> with the time it is looked at again by itself,
-- and in RQ's scheduled registry an hour ahead, where plain RQ tools see it.
--- include callers
local RECHECK = 300000000
local wake_unique, unique_tidy, unique_gone -- see unique
local function pump_at(instance, due) redis.call('ZADD', K.pump, 'LT', int(due), instance) end

-- refresh_pump(instance): look again when the next offer ends, or the next holder (a primitive's has no lease record)
local function refresh_pump(instance)
  local offer = redis.call('ZRANGE', K.offers .. instance, 0, 0, 'WITHSCORES')
  if offer[2] then pump_at(instance, tonumber(offer[2])) end
  local kind = string.sub(instance, 1, 1)
  if kind == 'R' or kind == 'U' then return end
  if kind == 'B' then return pump_at(instance, num(redis.call('HGET', K.rate .. instance, 'until'), NOW)) end
  local holders = redis.call('ZRANGE', K.holders .. instance, 0, 9, 'WITHSCORES')
  for i = 1, #holders, 2 do
    if i == 19 or redis.call('HEXISTS', K.leases, holders[i]) == 0 then
      return pump_at(instance, tonumber(holders[i + 1]))
    end
  end
end

local function line_up(id, queue, claim, since, due)
  redis.call('ZADD', K.line .. claim.i, int(since), id)
  redis.call('ZADD', K.instances, int(NOW), claim.i)
  if string.find(claim.i, SEP .. '#', 1, true) and claim.t then redis.call('HSET', K.key_text, claim.i, claim.t) end
  if due then pump_at(claim.i, due) else refresh_pump(claim.i) end
  local again = NOW + RECHECK
  if claim.mw and claim.mw > 0 then again = math.min(again, since + claim.mw) end
  redis.call('ZADD', K.parked .. queue, int(again), id)
  redis.call('HSET', K.rq_job .. id, F.parked, claim.i)
end

-- park(id, queue, func, claim, since, due, why): the caller has taken the id off the list
local function park(id, queue, func, claim, since, due, why)
  local key = K.rq_job .. id
  redis.call('HSET', key, 'status', 'scheduled', F.since, int(since))
  redis.call('HINCRBY', key, F.parkings, 1)
  redis.call('ZADD', K.rq_scheduled .. queue, int(math.floor(NOW / 1000000) + 3600), id)
  redis.call('ZADD', K.waiting .. queue, int(since), id)
  if claim.ra and claim.ra > 0 then
    redis.call('ZADD', K.parked .. queue, int(NOW + claim.ra), id)
    redis.call('HSET', key, F.parked, '')
  else
    line_up(id, queue, claim, since, due)
  end
  count(queue, func, 'parked')
  log('job.parked', {job = id, f = func, q = queue, c = claim.i, why = why})
end

local function unpark(id, queue, instance)
  redis.call('ZREM', K.parked .. queue, id)
  redis.call('ZREM', K.rq_scheduled .. queue, id)
  redis.call('HDEL', K.rq_job .. id, F.parked)
  if instance and instance ~= '' then
    redis.call('ZREM', K.line .. instance, id)
    forget_if_empty(instance)
  end
end

-- called_off(id, queue, func, status, instance) -> was it cancelled by plain RQ while it waited? Then it leaves all places
local function called_off(id, queue, func, status, instance)
  if status ~= 'canceled' or not redis.call('ZSCORE', K.rq_canceled .. queue, id) then return false end
  unpark(id, queue, instance)
  redis.call('ZREM', K.expiring, id)
  unique_gone(id)
  -- whoever takes it from the index of the waiting counts it
  if redis.call('ZREM', K.waiting .. queue, id) == 1 then
    count(queue, func, 'cancelled')
    log('job.cancelled', {job = id, f = func, q = queue})
  end
  return true
end

-- skip(id, queue, func, claim[, why]): a job that would rather not run than wait
local function skip(id, queue, func, claim, why)
  local key = K.rq_job .. id
  redis.call('HSET', key, 'status', 'canceled')
  redis.call('EXPIRE', key, 500)
  redis.call('ZREM', K.waiting .. queue, id)
  redis.call('ZREM', K.expiring, id)
  unique_gone(id)
  count(queue, func, 'skipped')
  log('job.skipped', {job = id, f = func, q = queue, c = claim.i, why = why})
end

-- to_front(id, queue): back on its queue, before all others
local function to_front(id, queue)
  redis.call('HSET', K.rq_job .. id, 'status', 'queued')
  redis.call('LPUSH', K.rq_queue .. queue, id)
  ring(queue)
end

local function woken(id, queue, func, instance)
  -- first onto the list: what fails after it loses nobody
  to_front(id, queue)
  unpark(id, queue, instance)
  count(queue, func, 'woken')
  log('job.woken', {job = id, f = func, q = queue, c = instance})
end

local function served(queue)
  local at = redis.call('HGET', K.served, queue)
  -- later than now: the clock stepped back, and all that is due is to be looked at anew
  at = num(at)
  return at and NOW - at < 30000000 and at <= NOW + 1000000
end


local function pause_claim(func)
  return {i = 'P:' .. func .. SEP, c = 'P:' .. func, k = 'P', w = 1, o = 'wait', ra = 0, mw = 0}
end

-- wake(instance) -> woken, blocked. Offers room to the oldest waiters whose claims all fit; a head that could run
-- but does not fit blocks the line; a waiter that another control refuses moves to that line. Bounded: what is left
-- after 30 looks goes to the pump. A reservation lasts C.offer µs.
local function wake(instance)
  if string.sub(instance, 1, 2) == 'U:' then return wake_unique(instance) end
  -- where the last look stopped, behind waiters that could not run whatever room there is
  local cursor = num(redis.call('HGET', K.cursors, instance))
  local count_woken, rank = call_in(instance), cursor or 0
  for look = 1, 31 do
    local head = redis.call('ZRANGE', K.line .. instance, rank, rank, 'WITHSCORES')
    local id, since = head[1], tonumber(head[2])
    if not id then
      if cursor then redis.call('HDEL', K.cursors, instance) end
      break
    end
    if look == 31 then
      redis.call('HSET', K.cursors, instance, rank)
      pump_at(instance, NOW)
      break
    end
    local job = redis.call('HMGET', K.rq_job .. id, 'origin', F.parked, F.claims, F.func, 'status')
    local queue, func = job[1] or '', job[4] or ''
    if job[2] ~= instance then
      redis.call('ZREM', K.line .. instance, id)
    elseif called_off(id, queue, func, job[5], instance) then
      -- the next one has its place
    elseif paused_function(func) then
      redis.call('ZREM', K.line .. instance, id)
      local pause = paused_function(func)
      line_up(id, queue, pause_claim(func), since, pause['until'] > 0 and pause['until'] or nil)
    elseif paused_queue(queue) then
      woken(id, queue, func, instance)
      count_woken = count_woken + 1
    elseif not served(queue) then
      rank = rank + 1
    else
      local claims, own, refused, refused_due = sorted_claims(job[3] or '[]') or {}, nil, nil, nil
      for _, claim in ipairs(claims) do if claim.i == instance then own = claim end end
      local fits, due = true, nil
      if own then fits, due = room(own, id) end
      if own and own.w > capacity(own) and definition(own).n > 0 then
        rank = rank + 1
      elseif not fits then
        if due then pump_at(instance, due) end
        if cursor then redis.call('HDEL', K.cursors, instance) end
        return count_woken, true
      else
        for _, claim in ipairs(claims) do
          if claim.i ~= instance and not refused then
            local ok, at = room(claim, id)
            if not ok then refused, refused_due = claim, at end
          end
        end
        if refused then
          redis.call('ZREM', K.line .. instance, id)
          if refused.o == 'drop' then
            unpark(id, queue, '')
            skip(id, queue, func, refused)
          elseif refused.o == 'reject' then
            woken(id, queue, func, instance) -- the claim door turns it away
          elseif refused.ra > 0 then
            redis.call('ZADD', K.parked .. queue, int(NOW + refused.ra), id)
            redis.call('HSET', K.rq_job .. id, F.parked, '')
          else
            line_up(id, queue, refused, since, refused_due)
          end
        else
          for _, claim in ipairs(claims) do
            if claim.k ~= 'B' then
              slot_add(K.offers, K.offer_weights, claim.i, id, claim.w, NOW + C.offer)
              pump_at(claim.i, NOW + C.offer)
            end
          end
          woken(id, queue, func, instance)
          count_woken = count_woken + 1
        end
      end
    end
  end
  return count_woken + call_in(instance), false
end

-- release(holds, token, fields): give back what a lease holds (rates stay charged) and wake the next
local function release(holds, token, fields)
  for _, hold in ipairs(holds) do
    local instance = hold[1]
    if string.sub(instance, 1, 1) ~= 'R' then
      local had = slot_remove(K.holders, K.holder_weights, instance, token)
      log(subject(instance) .. (had and '.released' or '.foreign_release'),
        {c = instance, job = fields.job, f = fields.f, q = fields.q, w = fields.w, t = string.sub(token, 1, 8)})
      if redis.call('EXISTS', K.line .. instance, K.callers .. instance) > 0 then wake(instance) else forget_if_empty(instance) end
    end
  end
end

-- An offer that ran out is made again while the next waiter could not use the room either: it stands on the same
-- queue, whose workers are all busy. Else it passes on.
local function outlive_offer(instance, id)
  local job = redis.call('HMGET', K.rq_job .. id, 'status', 'origin', F.parked, F.func)
  if job[1] ~= 'queued' or job[3] or not served(job[2] or '') then return false end
  if paused_queue(job[2]) or paused_function(job[4] or '') then return false end
  local head = redis.call('ZRANGE', K.line .. instance, 0, 0)[1]
  return head and redis.call('HGET', K.rq_job .. head, 'origin') == job[2]
end

-- tidy(instance): expired offers out, expired holders without a lease record (primitives) out, then wake
local function tidy(instance)
  if string.sub(instance, 1, 2) == 'U:' then
    return unique_tidy(instance)
  end
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', K.offers .. instance, '-inf', int(NOW), 'LIMIT', 0, 100)) do
    if outlive_offer(instance, job) then
      redis.call('ZADD', K.offers .. instance, 'XX', int(NOW + C.offer), job)
      keep(K.offers .. instance, C.offer)
    else
      slot_remove(K.offers, K.offer_weights, instance, job)
    end
  end
  if string.sub(instance, 1, 2) == 'B:' then
    local ends = num(redis.call('HGET', K.rate .. instance, 'until'), 0)
    if ends > NOW then return pump_at(instance, ends) end
    redis.call('HDEL', K.rate .. instance, 'until')
    wake(instance)
    if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, NOW) else forget_if_empty(instance) end
    return
  end
  if string.sub(instance, 1, 1) ~= 'R' then
    for _, token in ipairs(redis.call('ZRANGEBYSCORE', K.holders .. instance, '-inf', int(NOW), 'LIMIT', 0, 100)) do
      if redis.call('HEXISTS', K.leases, token) == 0 then
        slot_remove(K.holders, K.holder_weights, instance, token)
        log(subject(instance) .. '.expired', {c = instance, t = string.sub(token, 1, 8)})
      end
    end
  end
  if string.sub(instance, 1, 2) == 'P:' then
    return
  end
  wake(instance)
  refresh_pump(instance)
  forget_if_empty(instance)
end

-- place_of(queue, since, from) -> place, id there: where in the queue's list a job waiting since then belongs, before all
-- younger ones; no id at the end of the list, no place when it lies too deep to look.
local DEEP = 1000
local function place_of(queue, since, from)
  local list = K.rq_queue .. queue
  local length = redis.call('LLEN', list)
  local low, high = from, math.min(length, DEEP)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('HGET', K.rq_job .. redis.call('LINDEX', list, middle), F.since)
    if (tonumber(other) or NOW) <= since then low = middle + 1 else high = middle end
  end
  if low >= DEEP then return nil end
  return low, redis.call('LINDEX', list, low)
end

-- let_in(func, most) -> how many: the line of a function that is no longer paused, oldest first, each to where it would
-- stand had it never been paused: what was let in before and what is older stays in front of it.
local function let_in(func, most)
  local instance = pause_claim(func).i
  local rows, from, let = redis.call('ZRANGE', K.line .. instance, 0, most - 1, 'WITHSCORES'), {}, 0
  for i = 1, #rows, 2 do
    local id = rows[i]
    local job = redis.call('HMGET', K.rq_job .. id, 'origin', F.parked, 'status')
    local queue = job[1] or ''
    if job[2] ~= instance then
      redis.call('ZREM', K.line .. instance, id)
    elseif not called_off(id, queue, func, job[3], instance) then
      local place, before = place_of(queue, tonumber(rows[i + 1]), from[queue] or 0)
      if not place then
        -- enough is let in for now; looked at again when some of it has run
        pump_at(instance, NOW + 1000000)
        return let
      end
      redis.call('HSET', K.rq_job .. id, 'status', 'queued')
      if before then redis.call('LINSERT', K.rq_queue .. queue, 'BEFORE', before, id)
      else redis.call('RPUSH', K.rq_queue .. queue, id) end
      unpark(id, queue, instance)
      ring(queue)
      count(queue, func, 'woken')
      log('job.woken', {job = id, f = func, q = queue, c = instance})
      from[queue], let = place + 1, let + 1
    end
  end
  if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, NOW) else forget_if_empty(instance) end
  return let
end
--- include unique
