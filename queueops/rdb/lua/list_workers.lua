-- list_workers.lua: every worker known to RQ's registry or by a sign of life, as they are kept; it writes nothing.
-- ARGV: most, with what they run (0|1), field of RQ's worker hash, ...
-- Returns {{name, last sign (µs) or '', registered with RQ (0|1), mark of quiet or '', execution or '', its lease or '', field, ...}, ...}
local most, runs, fields = tonumber(ARGV[1]), ARGV[2] == '1', {}
for i = 3, #ARGV do fields[#fields + 1] = ARGV[i] end
local found, at = {}, {}
local function add(name, sign, registered)
  if at[name] then
    at[name][3] = math.max(at[name][3], registered)
  else
    at[name] = {name, sign, registered}
    found[#found + 1] = at[name]
  end
end
local seen = redis.pcall('ZREVRANGE', K.workers, 0, most - 1, 'WITHSCORES')
for i = 1, #seen, 2 do add(seen[i], seen[i + 1], 0) end
local scanned = redis.pcall('SSCAN', K.rq_workers, 0, 'COUNT', most)
for i, key in ipairs(scanned[2] or {}) do
  if i > most then break end
  if string.sub(key, 1, #K.rq_worker) == K.rq_worker then add(string.sub(key, #K.rq_worker + 1), '', 1) end
end
-- what(answer): it, or '' where there is nothing or a key of another type
local function what(answer) return type(answer) == 'string' and answer or '' end
for _, row in ipairs(found) do
  local key = K.rq_worker .. row[1]
  row[4], row[5], row[6] = what(redis.pcall('HGET', K.quiet, row[1])), '', ''
  if runs then
    row[5] = what(redis.pcall('SRANDMEMBER', key .. ':executions'))
    -- an execution is <job>:<token>; its token is that of the lease
    local token = string.match(row[5], ':([^:]*)$')
    if token then row[6] = what(redis.pcall('HGET', K.leases, token)) end
  end
  local got = redis.pcall('HMGET', key, unpack(fields))
  for i = 1, #fields do row[6 + i] = not got.err and got[i] or false end
end
return found
