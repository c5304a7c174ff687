-- The newer of two equal jobs takes the place of one that waits, also for those that depend on it. Needs withdraw.
--- include heirs
local function supersede(id, heir)
  local got = redis.call('HMGET', K.rq_job .. id, 'origin', F.func, F.parked, F.claims, 'dependency_ids', F.uniques)
  local queue, func = got[1] or '', got[2] or ''
  withdraw(id, queue, got[3], got[4], got[5])
  redis.call('HSET', K.rq_job .. id, 'status', 'canceled')
  redis.call('EXPIRE', K.rq_job .. id, 500)
  -- without waking anybody: the one that replaces it takes its place
  for _, spec in ipairs(uniques(got[6])) do
    if redis.call('ZREM', K.holders .. spec.i, id) == 1 then redis.call('HDEL', K.rate .. spec.i, 'by_time', 'ran') end
    if redis.call('HGET', K.rate .. spec.i, 'next') == id then redis.call('HDEL', K.rate .. spec.i, 'next') end
  end
  count(queue, func, 'superseded')
  log('job.superseded', {job = id, f = func, q = queue, why = 'replaced by ' .. heir})
  inherit(id, heir)
end

-- descends(id, dependencies, other): does the job depend on the other one, however far? One that depends on too many to
-- look at is taken to.
local MOST_ANCESTORS = 200
local function descends(id, dependencies, other)
  local seen, todo, looked = {[id] = true}, decoded(dependencies) or {}, 0
  while #todo > 0 do
    local parent = table.remove(todo)
    if parent == other then return true end
    if type(parent) == 'string' and not seen[parent] then
      seen[parent], looked = true, looked + 1
      if looked > MOST_ANCESTORS then return true end
      for _, above in ipairs(decoded(redis.call('HGET', K.rq_job .. parent, 'dependency_ids')) or {}) do
        todo[#todo + 1] = above
      end
    end
  end
  return false
end

-- follower(instance) -> the job that waits for the running one, if there is one
local function follower(instance)
  local follows = redis.call('HGET', K.rate .. instance, 'next')
  if follows and job_waits(follows) then return follows end
  local id = redis.call('ZRANGE', K.line .. instance, 0, 0)[1]
  if id and redis.call('HGET', K.rq_job .. id, F.parked) == instance then return id end
  return nil
end

-- place_of(spec, id, dependencies, holder, waits) -> the waiting job that a newer call takes the place of (nil: of none),
-- is the lock then the holder's still. A follower is newer than a holder that waits again, after a crash or for a retry.
-- What the call itself depends on keeps its place: the call comes after it.
local function place_of(spec, id, dependencies, holder, waits)
  local follows = follower(spec.i)
  if follows == id then return nil, true end
  if follows then
    if descends(id, dependencies, follows) then return nil, true end
    return follows, true
  end
  if waits and not descends(id, dependencies, holder) then return holder, false end
  return nil, true
end
