-- inherit(old, new): who waits for the one waits for the other
local MOST_HEIRS = 5000
local function inherit(old, new)
  local dependents = K.rq_job .. old .. ':dependents'
  local waiting = redis.call('SCARD', dependents)
  if waiting == 0 or waiting > MOST_HEIRS then return end
  for _, child in ipairs(redis.call('SRANDMEMBER', dependents, waiting)) do
    local parents = K.rq_job .. ':' .. child .. ':dependencies'
    if redis.call('SREM', parents, old) == 1 then redis.call('SADD', parents, new) end
    local ids = decoded(redis.call('HGET', K.rq_job .. child, 'dependency_ids'))
    if ids then
      for i, parent in ipairs(ids) do if parent == old then ids[i] = new end end
      redis.call('HSET', K.rq_job .. child, 'dependency_ids', cjson.encode(ids), 'dependency_id', ids[1])
    end
    redis.call('SADD', K.rq_job .. new .. ':dependents', child)
  end
  redis.call('DEL', dependents)
end
