-- Strikes copied jobs off the list of SQL copies to make, unless they changed since they were read.
-- ARGV: job id, its info as read ('' if it had none), ...
-- Returns number struck off
local done = 0
for i = 1, #ARGV, 2 do
  if (redis.call('HGET', K.quarantine_info, ARGV[i]) or '') == ARGV[i + 1] then
    done = done + redis.call('SREM', K.quarantine_todo, ARGV[i])
  end
end
return done
