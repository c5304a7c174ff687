-- A running job says how far it is. Not written by a run that lost its lease, nor into a hash that is gone.
-- ARGV: job id, token, progress (JSON)
-- Returns 1, or 0 when it is not this run's job any more
-- Events: none
local key = K.rq_job .. ARGV[1]
if redis.call('HGET', key, F.token) ~= ARGV[2] then return 0 end
redis.call('HSET', key, F.progress, ARGV[3])
return 1
