-- A job that runs in its caller (is_async=False): all its claims or none, no queue, no parking.
-- ARGV: id, queue, function, token, span (µs), client time (ISO), client time (s)
-- Returns {'TAKEN'} | {'REFUSED', instance or why} | {'MIRROR_MISSING'}
--- include door
local id, queue, func, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local key = K.rq_job .. id
if redis.call('EXISTS', K.epoch) == 0 then return {'MIRROR_MISSING'} end
local got = redis.call('HMGET', key, F.claims, F.since, F.uniques)
local claims = sorted_claims(got[1] or '[]') or {}
local since = num(got[2], NOW)
if redis.call('HEXISTS', K.leases, token) == 1 then return {'TAKEN'} end
local function refused(why, instance)
  count(queue, func, 'skipped')
  redis.call('HSET', key, 'status', 'canceled')
  redis.call('EXPIRE', key, 500)
  unique_gone(id)
  log(instance and subject(instance) .. '.refused' or 'job.skipped', {c = instance, job = id, f = func, q = queue, why = why})
  return {'REFUSED', instance or why}
end
if redis.call('HEXISTS', K.running, id) == 1 then return {'REFUSED', 'running'} end
if isolation_of(func, '', claims) then return refused('isolated') end
if paused_function(func) or paused_queue(queue) then return refused('paused') end
local specs = uniques(got[3])
local spec, holder = unique_conflict(specs, id)
if spec and holder ~= id then return refused('unique: held by ' .. holder) end
take_uniques(specs, id, NOW)
redis.call('HDEL', key, F.reserved)
for _ = 1, 10 do
  local verdict, claim = refusal(id, since, claims)
  if verdict == 'no' then
    return refused(nil, claim.i)
  elseif verdict == 'ok' then
    start({id = id, queue = queue, func = func, token = token, worker = '', claims = claims, span = tonumber(ARGV[5]),
      simple = 1, iso = ARGV[6], seconds = ARGV[7], since = since, uniques = got[3] and specs})
    return {'TAKEN'}
  end
end
return refused('busy')
