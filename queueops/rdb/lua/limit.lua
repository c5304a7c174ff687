-- limit.lua: an operator's limit on a control, or its end; then the waiters of some of its instances are woken.
-- ARGV: "set" | "lift" | "wake", control id, JSON record | id to lift ("" = any) | "", by, why, instances to wake…
-- (at most 20 a call; each wake looks at 30 waiters at most and leaves the rest to the pump)
-- Answer: {the record that was there or "", jobs woken}. Error: MIRROR_MISSING. Event: control.limit_changed
--- include door
--- include record
local op, control, record, by, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local before = redis.call('HGET', K.overrides, control) or ''
if op == 'set' then
  if redis.call('EXISTS', K.epoch) == 0 then return redis.error_reply('QO MIRROR_MISSING rebuild the settings first') end
  redis.call('HSET', K.overrides, control, record)
  if not same_record(before, record) then
    log('control.limit_changed', {c = control, by = by, why = why})
  end
elseif op == 'lift' and before ~= '' then
  local old = decoded(before)
  if record == '' or not old or old.id == record then
    redis.call('HDEL', K.overrides, control)
    log('control.limit_changed', {c = control, by = by, why = why})
  end
end
local woke = 0
for i = 6, math.min(#ARGV, 25) do
  if redis.call('EXISTS', K.line .. ARGV[i], K.callers .. ARGV[i]) > 0 then woke = woke + wake(ARGV[i]) end
end
return {before, woke}
