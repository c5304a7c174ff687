-- pause.lua: a queue, a function or everything starts nothing from here on (claim reads the same hash).
-- ARGV: field of K.paused ("q:<queue>" | "f:<function>" | "all"), JSON record, by, why
-- Answer: the record that it replaces, or false. Error: MIRROR_MISSING.
-- Events: queue.paused, function.paused, all.paused (none when the same record is put again)
--- include time
--- include log
--- include record
local field, record, by, why = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('EXISTS', K.epoch) == 0 then return redis.error_reply('QO MIRROR_MISSING rebuild the settings first') end
local before = redis.call('HGET', K.paused, field)
redis.call('HSET', K.paused, field, record)
if before and same_record(before, record) then return before end
local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
if kind == 'q:' then
  log('queue.paused', {q = name, by = by, why = why})
elseif kind == 'f:' then
  log('function.paused', {f = name, by = by, why = why})
else
  log('all.paused', {by = by, why = why})
end
return before
