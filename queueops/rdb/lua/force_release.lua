-- force_release.lua: takes holders off a control by order of an operator, and lets the next waiters in.
-- ARGV: instance, full token ("" = all), by, why, most
-- A job whose hold is taken goes on running: its own release will find nothing ("not mine"). Rates: forgets starts.
-- Answer: {holders still there, token, job, worker, token, …}. Event: control.force_released for each
--- include door
--- include record
local instance, wanted, by, why, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local holders = K.holders .. instance
local tokens
if wanted ~= '' then
  tokens = redis.call('ZSCORE', holders, wanted) and {wanted} or {}
else
  tokens = redis.call('ZRANGE', holders, 0, most - 1)
end
local answer = {0}
for _, token in ipairs(tokens) do
  local job, worker, func, queue = '', '', '', ''
  local lease = decoded(redis.call('HGET', K.leases, token))
  if lease then
    job, worker = tostring(lease.job or ''), tostring(lease.worker or '')
    func, queue = tostring(lease['function'] or ''), tostring(lease.queue or '')
  end
  slot_remove(K.holders, K.holder_weights, instance, token)
  log('control.force_released',
    {c = instance, job = job, f = func, q = queue, w = worker, t = string.sub(token, 1, 8), by = by, why = why})
  answer[#answer + 1] = token
  answer[#answer + 1] = job
  answer[#answer + 1] = worker
end
if wanted == '' and redis.call('DEL', K.rate .. instance) == 1 and #tokens == 0 then
  log('control.force_released', {c = instance, by = by, why = why})
  answer[2], answer[3], answer[4] = '', '', ''
end
answer[1] = redis.call('ZCARD', holders)
if #answer > 1 then
  if redis.call('EXISTS', K.line .. instance, K.callers .. instance) > 0 then wake(instance) else forget_if_empty(instance) end
end
return answer
