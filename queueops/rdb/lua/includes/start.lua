-- refusal(id, since, claims) -> 'ok' | 'woke' | 'no', claim, due. 'woke': an older waiter was let in first, look again.
local function refusal(id, since, claims)
  for _, claim in ipairs(claims) do
    local fits, due, offered = room(claim, id)
    if not fits then return 'no', claim, due end
    if not offered then
      local head = redis.call('ZRANGE', K.line .. claim.i, 0, 0, 'WITHSCORES')
      if head[1] and head[1] ~= id and tonumber(head[2]) <= since then
        local n, blocked = wake(claim.i)
        if n > 0 then return 'woke' end
        if blocked then return 'no', claim, nil end
      end
    end
  end
  return 'ok'
end

-- hold(token, id, claims, ends, fields): all claims, as one; the holds for the lease record
local function hold(token, id, claims, ends, fields)
  local holds = {}
  for _, claim in ipairs(claims) do
    take(claim, token, id, ends)
    if claim.k ~= 'B' then holds[#holds + 1] = {claim.i, claim.w} end
    if claim.k ~= 'R' and claim.k ~= 'B' then
      log(subject(claim.i) .. '.acquired',
        {c = claim.i, job = id, f = fields.f, q = fields.q, w = fields.w, t = string.sub(token, 1, 8)})
    end
  end
  return holds
end

local function lease_text(r)
  local more = r.uniques and #r.uniques > 0 and ',"uniques":' .. cjson.encode(r.uniques) or ''
  return string.format('{"job":%s,"queue":%s,"function":%s,"worker":%s,"started":%.0f,"span":%.0f,"simple":%d,"adopting":%d,"holds":%s%s}',
    cjson.encode(r.job), cjson.encode(r.queue), cjson.encode(r['function']), cjson.encode(r.worker), r.started, r.span,
    r.simple, r.adopting or 0, #r.holds == 0 and '[]' or cjson.encode(r.holds), more)
end

-- span_of(claims, default): the shortest lease that the claims ask for (µs)
local function span_of(claims, default)
  local span = default
  for _, claim in ipairs(claims) do if claim.l and claim.l > 0 then span = math.min(span, claim.l) end end
  return span
end

-- start(s): lease, RQ's own records of a started execution, attempt, waiting time. s: id, queue, func, token, worker,
-- claims, span, simple, iso (client's time, for RQ's display fields only), seconds (text), since,
-- uniques, adopting (the start is counted by adopt)
local function start(s)
  local key, ends = K.rq_job .. s.id, NOW + s.span
  local fields = {job = s.id, f = s.func, q = s.queue, w = s.worker, t = string.sub(s.token, 1, 8)}
  local holds = hold(s.token, s.id, s.claims, ends, fields)
  redis.call('HSET', K.leases, s.token, lease_text({job = s.id, queue = s.queue, ['function'] = s.func,
    worker = s.worker, started = NOW, span = s.span, simple = s.simple,
    adopting = s.adopting and 1 or 0, holds = holds, uniques = s.uniques}))
  redis.call('ZADD', K.lease_ends, int(ends), s.token)
  redis.call('HSET', K.running, s.id, s.token)
  redis.call('HINCRBY', key, F.attempts, 1)
  redis.call('HSET', key, 'status', 'started', 'started_at', s.iso, 'last_heartbeat', s.iso, 'worker_name', s.worker,
    F.token, s.token, F.since, int(s.since))
  redis.call('PERSIST', key)
  redis.call('ZREM', K.waiting .. s.queue, s.id)
  redis.call('ZREM', K.expiring, s.id)
  local execution, wip = s.id .. ':' .. s.token, int(math.floor(ends / 1000000) + 60)
  redis.call('HSET', K.rq_execution .. execution, 'id', s.token, 'job_id', s.id, 'created_at', s.seconds,
    'last_heartbeat', s.seconds, 'worker_name', s.worker)
  redis.call('PEXPIRE', K.rq_execution .. execution, math.ceil(s.span / 1000) + 60000)
  -- what RQ only shows stops no start
  redis.pcall('ZADD', K.rq_executions .. s.id, wip, s.token)
  redis.call('PEXPIRE', K.rq_executions .. s.id, math.ceil(s.span / 1000) + 120000)
  redis.call('ZADD', K.rq_wip .. s.queue, wip, execution)
  if s.worker ~= '' then
    redis.pcall('SADD', K.rq_worker .. s.worker .. ':executions', execution)
    redis.call('PEXPIRE', K.rq_worker .. s.worker .. ':executions', math.ceil(s.span / 1000) + 120000)
  end
  if s.uniques then unique_start(s.uniques, s.id) end
  if not s.adopting then begin(s.queue, s.func, s.since, fields) end
end
