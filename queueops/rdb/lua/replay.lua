-- replay.lua: a quarantined job runs again under a new id; the original keeps a link and leaves quarantine.
-- ARGV: id, new id, by, why, now as RQ writes it (ISO), queue (from the SQL copy), then field, value, … of the copied
-- hash, used only when Redis no longer has the job. Repeating the call with the same ids is harmless.
-- Carried on: data, meta, timeouts, ttls, callbacks, claims, function, policy, created_at, attempts, failures; the
-- retries are full again; crashes, parkings, start, end, result, dependencies are not copied.
-- Answer: {"done" | "skipped" | "gone", why or new id, queue}. Events: job.replayed
--- include door
--- include withdraw
--- include heirs
local id, new, by, why, iso = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local old_key, new_key = K.rq_job .. id, K.rq_job .. new
local DAY = 86400

local function as_map(flat, from)
  local map = {}
  for i = from, #flat, 2 do map[flat[i]] = flat[i + 1] end
  return map
end

local map = as_map(redis.call('HGETALL', old_key), 1)
local existing = redis.call('HMGET', new_key, F.replay_of, 'origin')
if existing[1] == id or map[F.replayed_as] == new then return {'done', new, existing[2] or map.origin or ''} end
if map[F.replayed_as] then return {'skipped', 'already replayed as ' .. map[F.replayed_as], map.origin or ''} end
local info = decoded(redis.call('HGET', K.quarantine_info, id)) or {}
local queue = map.origin or info.queue or ARGV[6]
local restored = false
if not map.data then
  if #ARGV < 8 then
    -- nothing left to run: the entry is only a name, so it goes
    redis.call('ZREM', K.quarantined .. queue, id)
    redis.call('ZREM', K.rq_failed .. queue, id)
    redis.call('HDEL', K.quarantine_info, id)
    redis.call('SADD', K.quarantine_todo, id)
    return {'gone', 'its data is no longer in Redis, and no copy was kept', queue}
  end
  map, restored = as_map(ARGV, 7), true
  queue = map.origin or queue
elseif not redis.call('ZSCORE', K.quarantined .. queue, id) then
  return {'skipped', 'not quarantined: it is ' .. tostring(map.status or 'without status'), queue}
end
local waiting = redis.call('SCARD', K.rq_job .. id .. ':dependents')
if waiting > MOST_HEIRS then return {'skipped', waiting .. ' jobs depend on it, more than one step may move', queue} end
if redis.call('EXISTS', new_key) == 1 then return {'skipped', 'the new id is already taken', queue} end
local specs = uniques(map[F.uniques])
for _, spec in ipairs(specs) do
  local holder = unique_holder(spec.i)
  -- its own lock that only time would have ended passes on to the replay
  if holder and holder ~= id then return {'skipped', 'unique: held by ' .. holder, queue} end
end

local DROP = {'status', 'started_at', 'ended_at', 'enqueued_at', 'last_heartbeat', 'worker_name', 'result', 'exc_info',
  'dependency_id', 'dependency_ids', F.since, F.token, F.settled, F.crashes, F.crash_at, F.parked, F.parkings, F.reschedules, F.error, F.error_line, F.call,
  F.quarantined, F.replayed_as}
local func, replays = map[F.func] or info['function'] or '', (tonumber(map[F.replays]) or 0) + 1
local fresh = {}
for field, value in pairs(map) do fresh[field] = value end
for _, field in ipairs(DROP) do fresh[field] = nil end
if fresh.number_of_retries then
  fresh.retries_left = (tonumber(fresh.retries_left) or 0) + (tonumber(fresh.number_of_retries) or 0)
  fresh.number_of_retries = nil
end
fresh.status, fresh.origin, fresh.enqueued_at = 'queued', queue, iso
fresh[F.replay_of], fresh[F.replays], fresh[F.since] = id, replays, int(NOW)

local flat = {}
for field, value in pairs(fresh) do
  flat[#flat + 1] = field
  flat[#flat + 1] = value
end
for i = 1, #flat, 1000 do redis.call('HSET', new_key, unpack(flat, i, math.min(i + 999, #flat))) end
redis.call('RPUSH', K.rq_queue .. queue, new)
local ttl = tonumber(fresh.ttl)
if ttl and ttl > 0 then
  redis.call('PEXPIRE', new_key, ttl * 1000)
  redis.call('ZADD', K.expiring, int(NOW + ttl * 1000000), new)
end
-- who waits for the original waits for its replay
inherit(id, new)

redis.call('ZREM', K.quarantined .. queue, id)
redis.call('ZREM', K.rq_failed .. queue, id)
redis.call('HDEL', K.quarantine_info, id)
redis.call('SADD', K.quarantine_todo, id)
redis.call('HSET', old_key, F.replayed_as, new, 'origin', queue)
redis.call('HDEL', old_key, F.quarantined)
-- the original stays to be read for a day; of a restored one only this note remains
redis.call('EXPIRE', old_key, DAY)
redis.call('EXPIRE', K.rq_results .. id, DAY)

redis.call('SADD', K.rq_queues, K.rq_queue .. queue)
redis.call('ZADD', K.queues, int(NOW), queue)
redis.call('ZADD', K.waiting .. queue, int(NOW), new)
for _, spec in ipairs(specs) do redis.call('ZREM', K.holders .. spec.i, id) end
take_uniques(specs, new, NOW)
note_accepted(specs)
count(queue, func, 'replayed')
log('job.replayed', {job = new, f = func, q = queue, by = by,
  why = 'replay of ' .. id .. (restored and ' from its copy' or '') .. ': ' .. why})
ring(queue)
return {'done', new, queue}
