-- Gives back what a token holds, wakes who waits for it; also takes a caller that gives up out of the line.
-- ARGV: instance, token, owner, gives up (0|1: it may hold nothing)
-- Returns 1 when the token held it and its lease had not ended, else 0 (and nobody's hold is touched)
-- Events: lock.released, .foreign_release, .expired and the same of semaphore
--- include time
--- include log
local instance, token, owner, gives_up = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local fields = {c = instance, t = string.sub(token, 1, 8), w = owner}
-- what a running job holds is given back by its own end only
local of_job = redis.call('HEXISTS', K.leases, token) == 1
local ends = not of_job and redis.call('ZSCORE', K.holders .. instance, token)
local in_time = ends and tonumber(ends) > NOW
local waited_for = redis.call('EXISTS', K.offers .. instance, K.line .. instance, K.callers .. instance) > 0
if ends then
  -- a primitive's weight is 1: there is none to take away
  redis.call('ZREM', K.holders .. instance, token)
  log(subject(instance) .. (in_time and '.released' or '.expired'), fields)
elseif not gives_up then
  log(subject(instance) .. '.foreign_release', fields)
end
if not waited_for then
  if ends and redis.call('EXISTS', K.holders .. instance) == 0 then
    redis.call('ZREM', K.instances, instance)
    if string.find(instance, SEP .. '#', 1, true) then redis.call('HDEL', K.key_text, instance) end
  end
  return in_time and 1 or 0
end

--- include count
--- include bell
--- include slots
--- include controls
--- include pauses
--- include line
local offered = false
if gives_up and not of_job then
  callers_forget(instance, token)
  offered = slot_remove(K.offers, K.offer_weights, instance, token)
end
if ends or offered then wake(instance) end
forget_if_empty(instance)
return in_time and 1 or 0
