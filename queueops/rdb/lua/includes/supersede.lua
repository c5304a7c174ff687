-- The newer of two equal jobs takes the place of one that waits. Needs withdraw.
local function supersede(id, why)
  local got = redis.call('HMGET', K.rq_job .. id, 'origin', F.func, F.parked, F.claims, 'dependency_ids', F.uniques)
  local queue, func = got[1] or '', got[2] or ''
  withdraw(id, queue, got[3], got[4], got[5])
  redis.call('HSET', K.rq_job .. id, 'status', 'canceled')
  redis.call('EXPIRE', K.rq_job .. id, 500)
  -- without waking anybody: the one that replaces it takes its place
  for _, spec in ipairs(uniques(got[6])) do
    if redis.call('ZREM', K.holders .. spec.i, id) == 1 then redis.call('DEL', K.rate .. spec.i) end
  end
  count(queue, func, 'superseded')
  log('job.superseded', {job = id, f = func, q = queue, why = why})
end

-- follower(instance) -> the job that waits for the running one, if there is one
local function follower(instance)
  local id = redis.call('ZRANGE', K.line .. instance, 0, 0)[1]
  if id and redis.call('HGET', K.rq_job .. id, F.parked) == instance then return id end
  return nil
end
