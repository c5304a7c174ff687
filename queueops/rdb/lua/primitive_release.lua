-- Gives back what a token holds, wakes who waits for it; also takes a caller that gives up out of the line.
-- ARGV: instance, token, owner, gives up (0|1: it may hold nothing)
-- Returns 1 when the token held it and its lease had not ended, else 0 (and nobody's hold is touched)
-- Events: lock.released, .foreign_release, .expired and the same of semaphore
--- include time
--- include log
--- include count
--- include bell
--- include slots
--- include controls
--- include pauses
--- include line
local instance, token, owner, gives_up = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local fields = {c = instance, t = string.sub(token, 1, 8), w = owner}
-- what a running job holds is given back by its own end only
local of_job = redis.call('HEXISTS', K.leases, token) == 1
local ends = not of_job and redis.call('ZSCORE', K.holders .. instance, token)
local offered = false
if gives_up then
  callers_forget(instance, token)
  offered = not of_job and slot_remove(K.offers, K.offer_weights, instance, token)
end
if not ends then
  if offered then wake(instance) end
  if not gives_up then log(subject(instance) .. '.foreign_release', fields) end
  return 0
end
slot_remove(K.holders, K.holder_weights, instance, token)
local in_time = tonumber(ends) > NOW
log(subject(instance) .. (in_time and '.released' or '.expired'), fields)
if redis.call('EXISTS', K.line .. instance, K.callers .. instance) > 0 then
  wake(instance)
else
  forget_if_empty(instance)
end
return in_time and 1 or 0
