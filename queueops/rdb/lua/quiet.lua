-- Tells a worker to start nothing new, or to start again.
-- ARGV: worker, on (0|1), by, why
-- Returns 1 when that changed something, 0 when it was so already, -1 when no worker of this name is known
-- Events: worker.quieted, .unquieted
--- include time
--- include log
local worker, on, by, why = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
if on and not redis.call('ZSCORE', K.workers, worker) then return -1 end
if on then
  if redis.call('HSETNX', K.quiet, worker, cjson.encode({by = by, reason = why, at = int(NOW)})) == 0 then return 0 end
  -- an idle one wakes, registers for no further bell, and says that it is quiet
  redis.call('LPUSH', K.bell .. worker, 1)
  redis.call('PEXPIRE', K.bell .. worker, 10000)
elseif redis.call('HDEL', K.quiet, worker) == 0 then
  return 0
end
log(on and 'worker.quieted' or 'worker.unquieted', {w = worker, by = by, why = why})
return 1
