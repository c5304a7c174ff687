-- A process outside a job takes a lock or a slot of a semaphore, or renews what it holds, in one step.
-- ARGV: claim (JSON), token, ttl (µs), wait (0|1), waiting since (µs, 0 at the first try), owner
-- Returns {'HELD', end (µs), renewed (0|1)} | {'REFUSED', worth looking again in (µs), waiting since (µs)}
-- Errors: QO TOKEN_OF_JOB
-- Events: lock.acquired, .refused, .expired and the same of semaphore
--- include time
--- include log
--- include count
--- include bell
--- include slots
--- include controls
--- include pauses
--- include line
--- include start
local claim, token, ttl, wait, since, owner = cjson.decode(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1', tonumber(ARGV[5]), ARGV[6]
local instance = claim.i
local holders, callers = K.holders .. instance, K.callers .. instance
if redis.call('HEXISTS', K.leases, token) == 1 then
  return redis.error_reply('QO TOKEN_OF_JOB this token belongs to a running job')
end
local ends = NOW + ttl
local held_until = redis.call('ZSCORE', holders, token)
if held_until and tonumber(held_until) > NOW then
  redis.call('ZADD', holders, int(ends), token)
  keep(holders, ttl)
  if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, ends) end
  return {'HELD', int(ends), 1}
end

-- nobody else may be there to see that a time has come
local function ended(key) return redis.call('ZRANGEBYSCORE', key, '-inf', int(NOW), 'LIMIT', 0, 1)[1] end
if ended(holders) or ended(K.offers .. instance) then tidy(instance) end

local first = since == 0
if first then since = NOW end
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

if admitted() then
  if redis.call('EXISTS', callers) == 1 then callers_forget(instance, token) end
  take(claim, token, token, ends)
  if redis.call('EXISTS', K.line .. instance) == 1 then pump_at(instance, ends) end
  log(subject(instance) .. '.acquired', {c = instance, t = string.sub(token, 1, 8), w = owner})
  return {'HELD', int(ends), 0}
end
if first then log(subject(instance) .. '.refused', {c = instance, t = string.sub(token, 1, 8), w = owner}) end
if wait then
  redis.call('ZADD', callers, 'NX', int(since), token)
  redis.call('ZADD', K.callers_seen .. instance, int(NOW), token)
  redis.call('SET', K.callers_claim .. instance, ARGV[1], 'EX', 60)
  redis.call('EXPIRE', callers, 60)
  redis.call('EXPIRE', K.callers_seen .. instance, 60)
end
local next_end = redis.call('ZRANGE', holders, 0, 0, 'WITHSCORES')[2]
return {'REFUSED', int(math.max((tonumber(next_end) or (NOW + 1000000)) - NOW, 0)), int(since)}
