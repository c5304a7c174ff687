-- paused_queue(queue), paused_function(func): the decoded pause in force, or nil; one read each per call
local PAUSES, PAUSING = {}, nil
local function pause_of(field)
  local known = PAUSES[field]
  if known == nil then
    known = false
    if PAUSING == nil then PAUSING = redis.call('HLEN', K.paused) > 0 end
    local raw = PAUSING and redis.call('HGET', K.paused, field)
    if raw then
      -- what cannot be read is a pause without an end: nothing starts that somebody wanted to stop
      local p = decoded(raw) or {}
      p['until'] = num(p['until'], 0)
      if p['until'] == 0 or p['until'] > NOW then known = p end
    end
    PAUSES[field] = known
  end
  return known
end
local function paused_queue(queue) return pause_of('all') or pause_of('q:' .. queue) end
local function paused_function(func) return pause_of('f:' .. func) end
local ISOLATING
local function isolated(field)
  local raw = redis.call('HGET', K.isolated, field)
  if not raw then return false end
  local ends = num((decoded(raw) or {})['until'], 0)
  return ends == 0 or ends > NOW
end
-- isolation_of(func, fingerprint, claims): why a job of these goes to quarantine instead of running, or nil
local function isolation_of(func, fingerprint, claims)
  if ISOLATING == nil then ISOLATING = redis.call('HLEN', K.isolated) > 0 end
  if not ISOLATING then return nil end
  if isolated('f:' .. func) then return 'function isolated' end
  if fingerprint and fingerprint ~= '' and isolated('e:' .. fingerprint) then return 'error isolated' end
  for _, claim in ipairs(claims) do
    if isolated('k:' .. claim.i) then return 'key isolated' end
  end
  return nil
end
