-- Publishes the definitions of controls of one release: the newest release (by first sight here) wins; an older live
-- one that disagrees is kept as a conflict.
-- ARGV: release, then control, definition (JSON without release), ...
-- Returns number of definitions that changed
-- Events: control.defined, control.definition_conflict
--- include time
--- include log
local release = ARGV[1]
redis.call('ZADD', K.releases, 'NX', int(NOW), release)
redis.call('ZREMRANGEBYRANK', K.releases, 0, -101)
local mine, changed = tonumber(redis.call('ZSCORE', K.releases, release)), 0
local function plain(text) local d = cjson.decode(text); return d.kind .. '/' .. tostring(d.limit) .. '/' .. tostring(d.per) .. '/' .. tostring(d.strategy) .. '/' .. tostring(d.burst) end
for i = 2, #ARGV, 2 do
  local control, text = ARGV[i], ARGV[i + 1]
  local full = string.sub(text, 1, -2) .. ',"release":' .. cjson.encode(release) .. ',"at":' .. int(NOW) .. '}'
  local current = redis.call('HGET', K.controls, control)
  if not current then
    redis.call('HSET', K.controls, control, full)
    changed = changed + 1
  else
    local holder = cjson.decode(current).release
    local theirs = tonumber(redis.call('ZSCORE', K.releases, holder) or 0)
    if plain(current) == plain(text) then
      if mine > theirs then redis.call('HSET', K.controls, control, full) end
      redis.call('HDEL', K.conflicts, control)
    elseif holder == release or mine >= theirs then
      redis.call('HSET', K.controls, control, full)
      if holder ~= release then redis.call('HSET', K.conflicts, control, current) end
      log('control.defined', {c = control, why = plain(text)})
      changed = changed + 1
    else
      redis.call('HSET', K.conflicts, control, full)
      log('control.definition_conflict', {c = control, why = plain(text) .. ' in ' .. release .. ', in force ' .. plain(current)})
    end
  end
end
return changed
