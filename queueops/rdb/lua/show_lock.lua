-- show_lock.lua: who holds one lock, semaphore, rate or breaker, who waits, who is offered room; it writes nothing.
-- ARGV: instance, most holders and most waiters, most offers, silent (µs)
-- Returns {holders, waiters, offers}; '' where there is nothing
--   a holder: {token, end (µs; of a rate its start), lease, weight, is the token the id of a job (0, 1: it runs, 2: it
--     does not), has its worker given no sign for too long (0|1)}; of a unique lock, held by a job: also its status,
--     queue, function, worker, and whether the lock lasts for a time of its own ('' or not)
--   a waiter: {job, since (µs), queue, function, is it offered room (0|1), weight}; an offer: {job, queue}
--- include time
--- include record
local id, most = ARGV[1], tonumber(ARGV[2])
local function many(answer) return answer.err and {} or answer end
local function what(answer) return type(answer) == 'string' and answer or '' end
local function fields(key, ...)
  local got = many(redis.pcall('HMGET', key, ...))
  local out = {}
  for i = 1, select('#', ...) do out[i] = what(got[i]) end
  return out
end
local function silent(worker)
  if type(worker) ~= 'string' or worker == '' then return 0 end
  return num(what(redis.pcall('ZSCORE', K.workers, worker)), 0) < NOW - ARGV[4] and 1 or 0
end

local holders, waiters, offers = {}, {}, {}
local held = many(redis.pcall('ZRANGE', K.holders .. id, 0, most - 1, 'WITHSCORES'))
for i = 1, #held, 2 do
  local token = held[i]
  local lease, weight = what(redis.pcall('HGET', K.leases, string.match(token, '^[^#]*'))), what(redis.pcall('HGET', K.holder_weights .. id, token))
  local job = redis.call('EXISTS', K.rq_job .. token) == 1 and (redis.call('HEXISTS', K.running, token) == 1 and 1 or 2) or 0
  local row = {token, held[i + 1], lease, weight, job, silent((decoded(lease) or {}).worker)}
  if string.sub(id, 1, 2) == 'U:' then
    local told = fields(K.rq_job .. token, 'status', 'origin', F.func, 'worker_name')
    row[6] = silent(told[4])
    for n = 1, 4 do row[6 + n] = told[n] end
    row[11] = what(redis.pcall('HGET', K.rate .. id, 'by_time'))
  end
  holders[#holders + 1] = row
end
local line = many(redis.pcall('ZRANGE', K.line .. id, 0, most - 1, 'WITHSCORES'))
for i = 1, #line, 2 do
  local job, offer = fields(K.rq_job .. line[i], 'origin', F.func), redis.pcall('ZSCORE', K.offers .. id, line[i])
  local weight = what(redis.pcall('HGET', K.offer_weights .. id, line[i]))
  waiters[#waiters + 1] = {line[i], line[i + 1], job[1], job[2], type(offer) == 'string' and 1 or 0, weight}
end
for _, job in ipairs(many(redis.pcall('ZRANGE', K.offers .. id, 0, tonumber(ARGV[3]) - 1))) do
  offers[#offers + 1] = {job, fields(K.rq_job .. job, 'origin')[1]}
end
return {holders, waiters, offers}
