-- list_locks.lua: live locks, semaphores, rates and breakers as they are kept, with what is declared; it writes nothing.
-- ARGV: options (JSON): ids; newest (so many of the last changed, too), waited (so many parked jobs are asked what they wait
--   for, and that, too), most (rows), owners (holders of one that are looked up), silent (µs), brief (0|1), all (0|1: what is
--   declared of all controls, not only of those listed)
-- Returns {now, known, controls, overrides, conflicts (field, value, ...), rows}
--   a row: {id, jobs in its line}, and without brief: readable key or '', held, weights, offers, weights of offers,
--   oldest waiter (µs), first end (µs), start, used, level, at ('' where there is none), owners gone
--- include time
--- include record
local o = cjson.decode(ARGV[1])
local MOST_CONTROLS, MOST_QUEUES = 500, 500
local function many(answer) return answer.err and {} or answer end
local function count(answer) return type(answer) == 'number' and answer or 0 end
local function what(answer) return type(answer) == 'string' and answer or '' end
local function first_score(key) return what(many(redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES'))[2]) end

local ids, seen = {}, {}
local function add(id)
  if id ~= '' and not seen[id] and #ids < o.most then
    seen[id] = true
    ids[#ids + 1] = id
  end
end
for _, id in ipairs(o.ids) do add(id) end
if o.waited > 0 then
  local queues = many(redis.pcall('ZREVRANGE', K.queues, 0, MOST_QUEUES - 1))
  local each = math.ceil(o.waited / math.max(1, #queues))
  for _, queue in ipairs(queues) do
    for _, job in ipairs(many(redis.pcall('ZRANGE', K.parked .. queue, 0, each - 1))) do
      add(what(redis.pcall('HGET', K.rq_job .. job, F.parked)))
    end
  end
end
if o.newest > 0 then
  for _, id in ipairs(many(redis.pcall('ZREVRANGE', K.instances, 0, o.newest - 1))) do add(id) end
end

local function control_of(id) return string.match(id, '^[^' .. SEP .. ']*') end
local declared = {}
local function per(id)
  local control = control_of(id)
  if not declared[control] then declared[control] = decoded(what(redis.pcall('HGET', K.controls, control))) or {} end
  return num(declared[control].per, 0)
end
local leases = {}
local function lost(token, ends)
  if num(ends, math.huge) <= NOW then return true end
  local name = string.match(token, '^[^#]*')
  local lease = leases[name]
  if lease == nil then
    lease = decoded(what(redis.pcall('HGET', K.leases, name))) or false
    leases[name] = lease
  end
  if not lease then return true end
  local worker = lease.worker
  if type(worker) ~= 'string' or worker == '' then return false end
  return num(what(redis.pcall('ZSCORE', K.workers, worker)), 0) < NOW - o.silent
end
local function gone(id)
  local letter, n = string.sub(id, 1, 1), 0
  if letter ~= 'L' and letter ~= 'S' and letter ~= 'X' then return 0 end
  local held = many(redis.pcall('ZRANGE', K.holders .. id, 0, o.owners - 1, 'WITHSCORES'))
  for i = 1, #held, 2 do n = n + (lost(held[i], held[i + 1]) and 1 or 0) end
  return n
end

local rows = {}
for n, id in ipairs(ids) do
  local row = {id, count(redis.pcall('ZCARD', K.line .. id))}
  if o.brief == 0 then
    local held, span = K.holders .. id, (string.sub(id, 1, 1) == 'R' or string.sub(id, 1, 1) == 'B') and per(id) or 0
    row[3] = what(redis.pcall('HGET', K.key_text, id))
    row[4] = count(span > 0 and redis.pcall('ZCOUNT', held, '(' .. int(NOW - span), '+inf') or redis.pcall('ZCARD', held))
    row[5] = what(redis.pcall('HGET', K.holder_weights .. id, ''))
    row[6] = count(redis.pcall('ZCARD', K.offers .. id))
    row[7] = what(redis.pcall('HGET', K.offer_weights .. id, ''))
    row[8], row[9] = first_score(K.line .. id), first_score(held)
    local state = many(redis.pcall('HMGET', K.rate .. id, 'start', 'used', 'level', 'at'))
    for i = 1, 4 do row[9 + i] = what(state[i]) end
    row[14] = gone(id)
  end
  rows[n] = row
end
local function table_of(key)
  if o.brief == 1 then return {} end
  if o.all == 1 then return redis.pcall('HSCAN', key, 0, 'COUNT', MOST_CONTROLS)[2] or {} end
  local out, known = {}, {}
  for _, id in ipairs(ids) do
    local control = control_of(id)
    local value = not known[control] and what(redis.pcall('HGET', key, control)) or ''
    known[control] = true
    if value ~= '' then
      out[#out + 1] = control
      out[#out + 1] = value
    end
  end
  return out
end
return {int(NOW), count(redis.pcall('ZCARD', K.instances)), table_of(K.controls), table_of(K.overrides), table_of(K.conflicts), rows}
