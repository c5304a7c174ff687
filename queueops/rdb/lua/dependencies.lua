-- A run that lasts tells what it has used outside so far.
-- ARGV: token, what it used (JSON; see includes/dependencies)
-- Returns 1, or 0 when the lease is gone
-- Events: none
--- include time
--- include record
--- include count
--- include dependencies
local record = decoded(redis.call('HGET', K.leases, ARGV[1]) or '')
if not record then return 0 end
note_dependencies(record.queue, record['function'], cjson.decode(ARGV[2]))
return 1
