-- A process outside a job takes a lock or a slot of a semaphore, or renews what it holds, in one step.
-- ARGV: instance, control, declared limit, token, ttl (µs), wait (0|1), waiting since (µs, 0 at the first try), owner,
--       claim (JSON), blind (0|1: go on though the settings of the operators are not mirrored)
-- Returns {'HELD', end (µs), renewed (0|1)} | {'REFUSED', worth looking again in (µs), waiting since (µs)}
-- Errors: QO TOKEN_OF_JOB, QO MIRROR_MISSING
-- Events: lock.acquired, .refused, .expired and the same of semaphore
--- include time
--- include log
local instance, control, limit, token, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local wait, since, owner = ARGV[6] == '1', tonumber(ARGV[7]), ARGV[8]
local holders, callers = K.holders .. instance, K.callers .. instance
if redis.call('HEXISTS', K.leases, token) == 1 then
  return redis.error_reply('QO TOKEN_OF_JOB this token belongs to a running job')
end
if ARGV[10] == '0' and redis.call('EXISTS', K.epoch) == 0 then return redis.error_reply('QO MIRROR_MISSING') end
local ends, first = NOW + ttl, since == 0
local function refused()
  if first then log(subject(instance) .. '.refused', {c = instance, t = string.sub(token, 1, 8), w = owner}) end
  if wait then
    redis.call('ZADD', callers, 'NX', int(since), token)
    redis.call('ZADD', K.callers_seen .. instance, int(NOW), token)
    redis.call('SET', K.callers_claim .. instance, ARGV[9], 'EX', 60)
    redis.call('EXPIRE', callers, 60)
    redis.call('EXPIRE', K.callers_seen .. instance, 60)
  end
  local next_end = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')[2]
  return {'REFUSED', int(math.max((tonumber(next_end) or (NOW + 1000000)) - NOW, 0)), int(since)}
end
if first then since = NOW end

-- The usual case, without the machinery of lines: nobody waits, nothing is over, no operator's limit.
local held = redis.call('ZCARD', holders)
local weights = held > 0 and redis.call('EXISTS', K.holder_weights .. instance) or 0
local over = held > 0 and redis.call('ZRANGEBYSCORE', holders, '-inf', int(NOW), 'LIMIT', 0, 1)[1]
if weights == 0 and not over and redis.call('EXISTS', K.offers .. instance, K.line .. instance, callers) == 0
  and redis.call('HEXISTS', K.overrides, control) == 0 then
  local published = string.sub(control, 1, 1) == 'S' and redis.call('HGET', K.controls, control)
  if published then limit = tonumber(string.match(published, '"limit":(%-?%d+)')) or limit end
  local renewed = held > 0 and redis.call('ZSCORE', holders, token)
  if not renewed and held >= limit then return refused() end
  redis.call('ZADD', holders, int(ends), token)
  local ms = math.ceil(ttl / 1000) + 60000
  if held == 0 or redis.call('PTTL', holders) < ms then redis.call('PEXPIRE', holders, ms) end
  if renewed then return {'HELD', int(ends), 1} end
  redis.call('ZADD', K.instances, int(NOW), instance)
  if string.find(instance, SEP .. '#', 1, true) then
    redis.call('HSET', K.key_text, instance, cjson.decode(ARGV[9]).t)
  end
  log(subject(instance) .. '.acquired', {c = instance, t = string.sub(token, 1, 8), w = owner})
  return {'HELD', int(ends), 0}
end

--- include count
--- include bell
--- include slots
--- include controls
--- include pauses
--- include line
--- include start
local held_until = redis.call('ZSCORE', holders, token)
if held_until and tonumber(held_until) > NOW then
  redis.call('ZADD', holders, int(ends), token)
  keep(holders, ttl)
  if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, ends) end
  return {'HELD', int(ends), 1}
end
-- no worker may be there to see that a lease or an offer has ended
local offer = redis.call('ZRANGEBYSCORE', K.offers .. instance, '-inf', int(NOW), 'LIMIT', 0, 1)[1]
if over or offer then tidy(instance) end
local claim = cjson.decode(ARGV[9])
local function admitted()
  for _ = 1, 10 do
    if redis.call('EXISTS', callers) == 1 then
      call_in(instance)
      -- an older caller that found no room is not passed
      local head = redis.call('ZRANGE', callers, 0, 0, 'WITHSCORES')
      if head[1] and head[1] ~= token and tonumber(head[2]) < since then return false end
    end
    local verdict = refusal(token, since, {claim})
    if verdict ~= 'woke' then return verdict == 'ok' end
  end
  return false
end
if not admitted() then return refused() end
if redis.call('EXISTS', callers) == 1 then callers_forget(instance, token) end
take(claim, token, token, ends)
if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, ends) end
log(subject(instance) .. '.acquired', {c = instance, t = string.sub(token, 1, 8), w = owner})
return {'HELD', int(ends), 0}
