-- withdraw(id, queue, parked, claims, dependencies): an open, not running job leaves every place where it waits: list,
-- registries, line, offers; whoever stands behind it in a line is woken. The hash stays. Answers as off_the_list does.
-- needs: time log count slots controls pauses bell line
--- include record
local function leave_dependencies(id, dependencies)
  for _, parent in ipairs(decoded(dependencies) or {}) do
    if type(parent) == 'string' then redis.call('SREM', K.rq_job .. parent .. ':dependents', id) end
  end
end
-- off_the_list(id, queue) -> was it found, or the list short enough to know? A list of any length would cost any time:
-- of a long one only both ends are searched. An entry left in the middle is dropped by the claim that meets it.
local SEARCHED = 100000
local function off_the_list(id, queue)
  local list = K.rq_queue .. queue
  if redis.call('LLEN', list) <= SEARCHED then
    redis.call('LREM', list, 0, id)
    return true
  end
  for _, from in ipairs({1, -1}) do
    if redis.call('LPOS', list, id, 'RANK', from, 'MAXLEN', SEARCHED) then
      redis.call('LREM', list, from, id)
      return true
    end
  end
  return false
end
local function withdraw(id, queue, parked, claims, dependencies)
  local found = off_the_list(id, queue)
  redis.call('ZREM', K.rq_deferred .. queue, id)
  redis.call('ZREM', K.rq_ready .. queue, id)
  redis.call('ZREM', K.waiting .. queue, id)
  redis.call('ZREM', K.expiring, id)
  leave_dependencies(id, dependencies)
  local instances = {}
  if parked and parked ~= '' then instances[parked] = true end
  for _, claim in ipairs(decoded(claims) or {}) do
    if type(claim) == 'table' and type(claim.i) == 'string' then
      if slot_remove(K.offers, K.offer_weights, claim.i, id) then instances[claim.i] = true end
    end
  end
  unpark(id, queue, parked)
  for instance in pairs(instances) do
    if string.sub(instance, 1, 2) ~= 'P:' and redis.call('EXISTS', K.line .. instance, K.callers .. instance) > 0 then
      wake(instance)
    else
      forget_if_empty(instance)
    end
  end
  return found
end
