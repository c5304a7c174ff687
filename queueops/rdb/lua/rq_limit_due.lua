-- A due scheduled job that RQ's own RateLimit governs joins the jobs held by that limit, as RQ's scheduler would do it.
-- ARGV: queue, job id, limit key, concurrency
-- Returns 1 | 0 (no longer due there)
--- include time
local score = redis.call('ZSCORE', K.rq_scheduled .. ARGV[1], ARGV[2])
if not score or tonumber(score) > NOW / 1000000 then return 0 end
local key = K.rq_job .. ARGV[2]
if redis.call('HGET', key, 'rate_limit_key') ~= ARGV[3] then return 0 end
redis.call('ZREM', K.rq_scheduled .. ARGV[1], ARGV[2])
redis.call('SADD', K.rq_limits, ARGV[3])
redis.call('HSET', K.rq_limit .. ARGV[3], 'concurrency', ARGV[4])
redis.call('HSET', key, 'status', 'rate_limited')
redis.call('ZADD', K.rq_limit .. ARGV[3] .. ':rate_limited', math.floor(NOW / 1000000), ARGV[2])
return 1
