-- Keys of ours that hold another type are set aside, and what can be worked out again is.
-- ARGV: key, type, key, type, ... (some hundreds at most)
-- Returns the keys set aside
-- Events: record.set_aside
--- include door
local MOST = 1000
local moved, names = {}, {}
for i = 1, #ARGV, 2 do
  local key, found = ARGV[i], redis.call('TYPE', ARGV[i]).ok
  if found ~= 'none' and found ~= ARGV[i + 1] then
    redis.call('RENAME', key, K.aside .. key)
    redis.call('PEXPIRE', K.aside .. key, 604800000)
    moved[key] = true
    names[#names + 1] = key
    log('record.set_aside', {why = key .. ' held a ' .. found .. ', kept as ' .. K.aside .. key})
  end
end
if #names == 0 then return names end

-- SQL has them
if moved[K.paused] or moved[K.isolated] or moved[K.overrides] then redis.call('DEL', K.epoch) end
if moved[K.leases] then redis.call('UNLINK', K.lease_ends, K.running) end
local leases = redis.call('HSCAN', K.leases, 0, 'COUNT', MOST)[2]
for i = 1, #leases, 2 do
  local token, record = leases[i], lease_of(leases[i])
  if record then
    redis.call('ZADD', K.lease_ends, 'NX', int(NOW + record.span), token)
    redis.call('HSETNX', K.running, record.job, token)
    for _, hold in ipairs(record.holds) do redis.call('ZADD', K.instances, 'NX', int(NOW), hold[1]) end
  end
end
for _, instance in ipairs(redis.call('ZRANGE', K.instances, 0, MOST - 1)) do pump_at(instance, NOW) end

local looks = 5000 -- of jobs: no call takes long
local function each_parked(ids, f)
  for _, id in ipairs(ids) do
    looks = looks - 1
    local instance = looks > 0 and redis.call('HGET', K.rq_job .. id, F.parked)
    if instance then f(id, instance) end
  end
end
local function stand_ins(queue) return redis.call('ZRANGE', K.rq_scheduled .. queue, 0, MOST - 1) end
local function suffix(key, family)
  if string.sub(key, 1, #family) == family then return string.sub(key, #family + 1) end
end
local function work_out(key)
  local function waits(id) redis.call('ZADD', key, int(num(redis.call('HGET', K.rq_job .. id, F.since), NOW)), id) end
  local queue = suffix(key, K.waiting)
  if queue then
    for _, id in ipairs(redis.call('LRANGE', K.rq_queue .. queue, 0, MOST - 1)) do waits(id) end
    each_parked(stand_ins(queue), waits)
  end
  queue = suffix(key, K.parked)
  if queue then each_parked(stand_ins(queue), function(id) redis.call('ZADD', key, int(NOW), id) end) end
  queue = suffix(key, K.quarantined)
  for _, id in ipairs(queue and redis.call('ZRANGEBYSCORE', K.rq_failed .. queue, '+inf', '+inf', 'LIMIT', 0, MOST) or {}) do
    if redis.call('HEXISTS', K.rq_job .. id, F.quarantined) == 1 then redis.call('ZADD', key, int(NOW), id) end
  end
  local line = suffix(key, K.line)
  if line then
    for _, name in ipairs(redis.call('ZREVRANGE', K.queues, 0, 99)) do
      each_parked(redis.call('ZRANGE', K.parked .. name, 0, MOST - 1), function(id, instance)
        if instance == line then waits(id) end
      end)
    end
    pump_at(line, NOW)
  end
end
-- what RQ's keys do not let be worked out stays away
for _, key in ipairs(names) do pcall(work_out, key) end
return names
