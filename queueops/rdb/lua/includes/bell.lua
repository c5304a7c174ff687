--- include record
-- ring(queue): wake the worker that has been idle longest among those that serve the queue.
-- A ring takes the worker out of all its queues, so that two jobs at once wake two workers.
-- An idle worker registers anew with every empty claim, so an entry older than 5 s belongs to a dead one.
local function unidle(worker)
  local raw = redis.call('HGET', K.worker_queues, worker)
  if not raw then return end
  for _, queue in ipairs(decoded(raw) or {}) do redis.call('ZREM', K.idle .. queue, worker) end
  redis.call('HDEL', K.worker_queues, worker)
end
local function ring_one(queue)
  for _ = 1, 10 do
    local head = redis.call('ZRANGE', K.idle .. queue, 0, 0, 'WITHSCORES')
    if not head[1] then return false end
    redis.call('ZREM', K.idle .. queue, head[1])
    unidle(head[1])
    if NOW - tonumber(head[2]) < 5000000 then
      redis.call('LPUSH', K.bell .. head[1], 1)
      redis.call('PEXPIRE', K.bell .. head[1], 10000)
      return true
    end
  end
  return false
end
-- a bell that cannot be rung stops no door: an idle worker looks again by itself
local function ring(queue)
  local ok, rung = pcall(ring_one, queue)
  return ok and rung
end
