-- Stores and publishes a snapshot, if the monitor that made it still leads: a stopped and woken one says nothing.
-- ARGV: token, length of validity (ms), snapshot (JSON)
-- Returns 1 | 0 (no longer the leader)
if redis.call('GET', K.monitor_leader) ~= ARGV[1] then return 0 end
redis.call('SET', K.snapshot, ARGV[3], 'PX', ARGV[2])
redis.call('PUBLISH', K.snapshot_channel, ARGV[3])
return 1
