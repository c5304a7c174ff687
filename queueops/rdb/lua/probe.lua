-- probe.lua: can this server run a script that writes, as the doors do?
-- ARGV: random text. Answer: what was written and read back; it expires by itself
redis.call('SET', K.probe, ARGV[1], 'PX', 10000)
return redis.call('GET', K.probe)
