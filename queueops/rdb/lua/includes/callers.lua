-- Processes that wait for a primitive stand beside the line of jobs; the older of the two goes first.
-- A caller asks again at least once a second: one not seen for 3 s is gone.
local function callers_forget(instance, token)
  redis.call('ZREM', K.callers .. instance, token)
  redis.call('ZREM', K.callers_seen .. instance, token)
  if redis.call('EXISTS', K.callers .. instance) == 0 then redis.call('DEL', K.callers_claim .. instance) end
end

-- call_in(instance) -> how many: offers room to the callers that are older than the line, and rings them
local function call_in(instance)
  if redis.call('EXISTS', K.callers .. instance) == 0 then return 0 end
  local silent = redis.call('ZRANGEBYSCORE', K.callers_seen .. instance, '-inf', int(NOW - 3000000), 'LIMIT', 0, 20)
  for _, token in ipairs(silent) do callers_forget(instance, token) end
  local raw = redis.call('GET', K.callers_claim .. instance)
  if not raw then return 0 end
  local claim = cjson.decode(raw)
  local called = 0
  for _ = 1, 10 do
    local caller = redis.call('ZRANGE', K.callers .. instance, 0, 0, 'WITHSCORES')
    if not caller[1] then break end
    local job = redis.call('ZRANGE', K.line .. instance, 0, 0, 'WITHSCORES')
    if job[1] and tonumber(job[2]) < tonumber(caller[2]) then break end
    if not room(claim, caller[1]) then break end
    callers_forget(instance, caller[1])
    slot_add(K.offers, K.offer_weights, instance, caller[1], 1, NOW + C.offer)
    redis.call('ZADD', K.pump, 'LT', int(NOW + C.offer), instance)
    redis.call('LPUSH', K.bell .. caller[1], 1)
    redis.call('PEXPIRE', K.bell .. caller[1], 10000)
    called = called + 1
  end
  return called
end
