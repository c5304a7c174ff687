-- isolate.lua: jobs of a function, with an error or with a key go to quarantine instead of running; or no longer.
-- ARGV: "set" | "lift", field of K.isolated ("f:" | "e:" | "k:" and name), JSON record | id to lift ("" = any), by, why
-- Answer: the record that was there, or false. Error: MIRROR_MISSING.
-- Events: function.isolated, error.isolated, key.isolated; the same with .unisolated
--- include time
--- include log
--- include record
local op, field, record, by, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
local fields = {by = by, why = why}
local subjects = {['f:'] = 'function', ['e:'] = 'error', ['k:'] = 'key'}
if kind == 'f:' then fields.f = name elseif kind == 'k:' then fields.c = name else fields.x = name end
local before = redis.call('HGET', K.isolated, field)
if op == 'set' then
  if redis.call('EXISTS', K.epoch) == 0 then return redis.error_reply('QO MIRROR_MISSING rebuild the settings first') end
  redis.call('HSET', K.isolated, field, record)
  if before and same_record(before, record) then return before end
  log(subjects[kind] .. '.isolated', fields)
  return before
end
if not before then return false end
local old = decoded(before)
if record ~= '' and old and old.id ~= record then return false end
redis.call('HDEL', K.isolated, field)
log(subjects[kind] .. '.unisolated', fields)
return before
