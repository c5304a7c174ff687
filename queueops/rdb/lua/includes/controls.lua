-- The definition in force of a claim's control: override, else published, else the claim's own.
-- room(claim, job): does the claim fit now? else when it will by itself (µs, nil if only a release can tell)
-- take(claim, token, job, ends): hold it; rates are charged. A claim is {i, c, k, w, n, per, s, b, l, o, ra, mw, t}.
local DEFINITIONS, OVERRIDDEN = {}, nil
local function definition(claim)
  local known = DEFINITIONS[claim.c]
  if known then return known end
  local found = {n = claim.n, per = claim.per, s = claim.s, b = claim.b}
  if claim.k ~= 'L' then
    local published = redis.call('HGET', K.controls, claim.c)
    if published then
      local d = decoded(published)
      if d and num(d.limit) then found = {n = d.limit, per = num(d.per, claim.per), s = d.strategy, b = d.burst} end
    end
  end
  if OVERRIDDEN == nil then OVERRIDDEN = redis.call('HLEN', K.overrides) > 0 end
  local override = OVERRIDDEN and redis.call('HGET', K.overrides, claim.c)
  if override then
    local o = decoded(override) or {}
    local ends = num(o['until'], 0)
    if num(o.limit) and (ends == 0 or ends > NOW) then
      found.n = o.limit
      found.overridden = true
    end
  end
  if type(found.b) ~= 'number' or found.b < 1 then found.b = found.n end
  DEFINITIONS[claim.c] = found
  return found
end

local RATES = {}
-- capacity(claim): the heaviest claim that ever fits
local function capacity(claim)
  local d = definition(claim)
  return d.s == 'bucket' and d.b or d.n
end

RATES.sliding = {
  room = function(claim, d, offered)
    local key = K.holders .. claim.i
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(NOW - d.per))
    local excess = redis.call('ZCARD', key) + offered + claim.w - d.n
    if excess <= 0 then return true end
    local newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if newest[2] and tonumber(newest[2]) > NOW then
      -- the clock stepped back: these starts count from now on, so that nobody waits longer than a window
      for _, start in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. int(NOW), '+inf', 'LIMIT', 0, 1000)) do
        redis.call('ZADD', key, 'XX', int(NOW), start)
      end
    end
    local start = redis.call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')
    return false, start[2] and tonumber(start[2]) + d.per
  end,
  take = function(claim, d, token)
    local key = K.holders .. claim.i
    for i = 1, claim.w do redis.call('ZADD', key, int(NOW), token .. (i > 1 and '#' .. i or '')) end
    redis.call('PEXPIRE', key, math.ceil(d.per / 1000) + 1000)
  end,
}
RATES.window = {
  state = function(claim, d)
    local got = redis.call('HMGET', K.rate .. claim.i, 'start', 'used')
    local start, used = tonumber(got[1]), tonumber(got[2])
    -- a start that is missing, in the future or older than one window opens a new one (repairs a planted key)
    if not start or not used or start > NOW or NOW - start >= d.per then return NOW, 0 end
    return start, used
  end,
  room = function(claim, d, offered)
    local start, used = RATES.window.state(claim, d)
    if used + offered + claim.w <= d.n then return true end
    return false, start + d.per
  end,
  take = function(claim, d)
    local start, used = RATES.window.state(claim, d)
    redis.call('HSET', K.rate .. claim.i, 'start', int(start), 'used', used + claim.w)
    redis.call('PEXPIRE', K.rate .. claim.i, math.ceil((start + d.per - NOW) / 1000) + 1000)
  end,
}
RATES.bucket = {
  -- token bucket: refills limit / per, holds at most burst
  level = function(claim, d)
    local got = redis.call('HMGET', K.rate .. claim.i, 'level', 'at')
    local level, at = tonumber(got[1]), tonumber(got[2])
    if not level or not at or at > NOW then return d.b end
    return math.min(d.b, level + (NOW - at) * d.n / d.per)
  end,
  room = function(claim, d, offered)
    local level = RATES.bucket.level(claim, d) - offered
    if level >= claim.w then return true end
    if d.n <= 0 or claim.w > d.b then return false end
    return false, NOW + math.ceil((claim.w - level) * d.per / d.n)
  end,
  take = function(claim, d)
    local level = RATES.bucket.level(claim, d) - claim.w
    redis.call('HSET', K.rate .. claim.i, 'level', string.format('%.6f', level), 'at', int(NOW))
    redis.call('PEXPIRE', K.rate .. claim.i, math.ceil((d.b - level) * d.per / math.max(d.n, 1) / 1000) + 1000)
  end,
}

local function offered_to_others(claim, job)
  local used = slot_used(K.offers, K.offer_weights, claim.i)
  if used == 0 then return 0, false end
  if not redis.call('ZSCORE', K.offers .. claim.i, job) then return used, false end
  return used - (tonumber(redis.call('HGET', K.offer_weights .. claim.i, job)) or 1), true
end
-- charge_breaker(claim, token): a failure that counts; the one that makes it too many opens the breaker
local function charge_breaker(claim, token)
  local key, d = K.holders .. claim.i, definition(claim)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', int(NOW - d.per))
  redis.call('ZADD', key, int(NOW), token)
  redis.call('PEXPIRE', key, math.ceil(d.per / 1000) + 1000)
  redis.call('ZADD', K.instances, int(NOW), claim.i)
  if redis.call('ZCARD', key) < d.n then return nil end
  redis.call('HSET', K.rate .. claim.i, 'until', int(NOW + d.b))
  redis.call('PEXPIRE', K.rate .. claim.i, math.ceil(d.b / 1000) + 60000)
  redis.call('ZADD', K.pump, int(NOW + d.b), claim.i)
  return NOW + d.b
end

local function room(claim, job)
  if claim.k == 'B' then
    local ends = num(redis.call('HGET', K.rate .. claim.i, 'until'), 0)
    claim.mine = false
    if ends > NOW then return false, ends, false end
    return true, nil, false
  end
  local d = definition(claim)
  local offered, mine = offered_to_others(claim, job)
  claim.mine = mine
  if claim.k == 'R' then
    if d.n <= 0 then return false end
    local fits, due = (RATES[d.s] or RATES.sliding).room(claim, d, offered)
    return fits, due, mine
  end
  local used = slot_used(K.holders, K.holder_weights, claim.i) + offered
  return used + claim.w <= d.n, nil, mine
end
local function take(claim, token, job, ends)
  if claim.k == 'B' then return end
  -- false: room has seen that nothing is offered to this job, and only a script that wakes it offers
  if claim.mine ~= false then slot_remove(K.offers, K.offer_weights, claim.i, job) end
  local d = definition(claim)
  if claim.k == 'R' then
    (RATES[d.s] or RATES.sliding).take(claim, d, token)
  else
    slot_add(K.holders, K.holder_weights, claim.i, token, claim.w, ends)
  end
  redis.call('ZADD', K.instances, int(NOW), claim.i)
  if string.find(claim.i, SEP .. '#', 1, true) and claim.t then redis.call('HSET', K.key_text, claim.i, claim.t) end
end
-- sorted_claims(raw): the claims of a job, locks before semaphores before rates; nil when they cannot be read
local function sorted_claims(raw)
  local claims = decoded(raw)
  if not claims then return nil end
  for name, claim in pairs(claims) do
    if type(name) ~= 'number' or type(claim) ~= 'table' or type(claim.i) ~= 'string' or type(claim.c) ~= 'string' or
      type(claim.k) ~= 'string' then return nil end
    claim.n, claim.w, claim.per = num(claim.n, 1), num(claim.w, 1), num(claim.per, 0)
    claim.l, claim.ra, claim.mw = num(claim.l, 0), num(claim.ra, 0), num(claim.mw, 0)
  end
  local rank = {X = 0, L = 1, S = 2, R = 3, B = 4}
  if #claims > 1 then
    table.sort(claims, function(a, b)
      if a.k ~= b.k then return (rank[a.k] or 9) < (rank[b.k] or 9) end
      return a.i < b.i
    end)
  end
  return claims
end
