-- quarantine.lua: an operator sets one open job aside. A running one is refused.
-- ARGV: job id, by, why, id of the call ("" = none): repeated with the same one, it answers "done" again
-- Answer: {"done" | "skipped" | "gone", why, queue}. Events: those of quarantine_job
--- include door
--- include withdraw
local id, by, why, call = ARGV[1], ARGV[2], ARGV[3], ARGV[4] or ''
local got = redis.call('HMGET', K.rq_job .. id, 'status', 'data', 'origin', F.func, F.parked, F.claims, 'dependency_ids')
local status, queue, func = got[1], got[3] or '', got[4] or ''
if not status and not got[2] then return {'gone', 'there is no job with this id', ''} end
if redis.call('ZSCORE', K.quarantined .. queue, id) then
  local info = decoded(redis.call('HGET', K.quarantine_info, id))
  if call ~= '' and info and info.call == call then return {'done', '', queue} end
  return {'skipped', 'already quarantined', queue}
end
local token = redis.call('HGET', K.running, id)
if token or status == 'started' then
  local lease = token and decoded(redis.call('HGET', K.leases, token))
  local worker = lease and lease.worker ~= '' and lease.worker
  return {'skipped', 'running' .. (worker and ' on ' .. worker or '') .. ': wait for its end or stop it first', queue}
end
if status == 'rate_limited' or status == 'ready_to_enqueue' then
  return {'skipped', 'held by the rate limit of RQ itself', queue}
end
if status ~= 'queued' and status ~= 'scheduled' and status ~= 'deferred' and status ~= 'created' then
  return {'skipped', 'not open: it is ' .. tostring(status or 'without status'), queue}
end
withdraw(id, queue, got[5], got[6], got[7])
quarantine_job(id, queue, func, 'operator', 'by ' .. by .. ': ' .. why)
-- as text: the encoder would round the time
local info = redis.call('HGET', K.quarantine_info, id)
redis.call('HSET', K.quarantine_info, id, string.sub(info, 1, -2) .. ',"call":' .. cjson.encode(call) .. '}')
return {'done', '', queue}
