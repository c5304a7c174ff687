-- Writes the mirror of what people set (pauses, isolations, overrides) and the epoch that says it is complete.
-- ARGV: epoch, schema, paused (JSON object field -> JSON text), isolated, overrides
-- Returns number of fields
--- include time
--- include record
local schema = redis.call('GET', K.schema)
if schema and num(schema, 0) > tonumber(ARGV[2]) then
  return redis.error_reply('QO SCHEMA_NEWER this Redis holds layout ' .. schema .. '; upgrade queueops here')
end
-- somebody was faster; what this caller read from SQL may be older than what is in force by now
if redis.call('GET', K.epoch) then return 0 end
local written = 0
for i, key in ipairs({K.paused, K.isolated, K.overrides}) do
  redis.call('DEL', key)
  for field, text in pairs(cjson.decode(ARGV[i + 2])) do
    redis.call('HSET', key, field, text)
    written = written + 1
  end
end
redis.call('SET', K.schema, ARGV[2])
redis.call('SET', K.counting_since, int(NOW), 'NX')
redis.call('SET', K.epoch, ARGV[1])
return written
