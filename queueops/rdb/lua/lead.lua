-- The lease of the leading monitor: taken when free, extended by its own token, given up with a length of 0.
-- ARGV: token, length (ms)
-- Returns {leader (0|1), number of the next snapshot}
local owner = redis.call('GET', K.monitor_leader)
if owner and owner ~= ARGV[1] then return {0, 0} end
if tonumber(ARGV[2]) <= 0 then
  redis.call('DEL', K.monitor_leader)
  return {0, 0}
end
redis.call('SET', K.monitor_leader, ARGV[1], 'PX', ARGV[2])
return {1, redis.call('HINCRBY', K.monitor_state, 'seq', 1)}
