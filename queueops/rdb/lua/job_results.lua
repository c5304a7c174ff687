-- job_results.lua: the newest results that RQ keeps of a job, without what they returned; it writes nothing.
-- ARGV: job id, most, longest traceback (bytes of its stored form; a longer one is left out)
-- Returns {{id, type, worker, execution, started (s), ended (s), stored traceback, its length}, ...}, newest first
local out, key = {}, K.rq_results .. ARGV[1]
if redis.call('TYPE', key).ok ~= 'stream' then return out end
for _, entry in ipairs(redis.call('XREVRANGE', key, '+', '-', 'COUNT', ARGV[2])) do
  local got = {}
  for i = 1, #entry[2], 2 do got[entry[2][i]] = entry[2][i + 1] end
  local error = got.exc_string or ''
  out[#out + 1] = {entry[1], got.type or '', got.worker_name or '', got.execution_id or '', got.execution_started_at or '',
    got.execution_ended_at or '', #error <= tonumber(ARGV[3]) and error or '', #error}
end
return out
