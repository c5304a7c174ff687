-- list_jobs.lua: one page of the jobs in one state of some queues, filtered here; it writes nothing.
-- ARGV: options (JSON), then where to begin (nothing: at the first): order key, rank of the queue among them (half between
--   two), index, member, member before it, ...
-- options: state, queues (names, sorted), size, budget (entries looked at), back (0|1: towards the first), count (0|1), filters, 0 or ''
--   for none: func, text, any, error, tag, older, younger (µs of age), only ('retries' | 'repeats'); sample, cron, plain (0|1: ids alone)
-- Order: queued by queue as it will be taken; failed and quarantined newest first; running by start; others by time, then queue.
-- Returns {now, rows, looked at, left (0|1), total, first key, last key, sample {retries, repeats, all looked at}, cron}
--   a row: {id, queue, order key, begun (µs), description, its length, quarantine info, field, field, ...};
--   a key: {order key, queue, index, member, member ...}
--- include time
--- include record
--- include iso
--- include keyset
local o = cjson.decode(ARGV[1])
local REGISTRY = {parked = K.parked, scheduled = K.rq_scheduled, deferred = K.rq_deferred, failed = K.rq_failed,
  quarantined = K.quarantined, running = K.rq_wip, queued = K.rq_queue}
local FIELDS = {'status', F.func, 'origin', F.since, 'enqueued_at', 'started_at', 'ended_at', 'created_at', F.attempts,
  F.failures, F.parked, F.quarantined, 'worker_name', F.tags, F.error, F.error_line, 'repeats_left', 'number_of_retries',
  'retries_left', F.parkings}
local LONGEST, CHUNK = 50000, 100
local registry, newest_first = REGISTRY[o.state], o.state == 'failed' or o.state == 'quarantined'
local back = o.back == 1
local anchors = {}
for i = 5, #ARGV do anchors[#anchors + 1] = ARGV[i] end
local from = ARGV[2] and {score = ARGV[2], rank = tonumber(ARGV[3]), index = tonumber(ARGV[4]), member = ARGV[5]}

local function has(text, wanted) return text and string.find(string.lower(text), wanted, 1, true) ~= nil end
for _, name in ipairs({'func', 'text', 'any', 'error'}) do o[name] = string.lower(o[name] or '') end

-- what an entry is judged by is read first, the rest only of those that are shown
local BEGUN = ({running = 'started_at', failed = 'ended_at', scheduled = 'created_at', deferred = 'created_at'})[o.state] or F.since
local JUDGED, AT = {}, {}
local function judge(...)
  for _, name in ipairs({...}) do
    if not AT[name] then
      JUDGED[#JUDGED + 1] = name
      AT[name] = #JUDGED
    end
  end
end
if o.state == 'scheduled' then judge('status', F.parked) end
if o.state == 'failed' then judge('status', F.quarantined) end
if o.only == 'retries' then judge(F.failures, 'number_of_retries') end
if o.only == 'repeats' then judge('repeats_left') end
if o.func ~= '' or o.any ~= '' then judge(F.func) end
if o.tag ~= '' then judge(F.tags) end
if o.error ~= '' then judge(F.error, F.error_line, F.quarantined) end
if o.older > 0 or o.younger > 0 then judge(BEGUN, 'enqueued_at') end

local function begun_at(value, enqueued, score)
  if o.state == 'quarantined' then return num(score) end
  if BEGUN == F.since then return num(value) or iso_us(enqueued) end
  return iso_us(value)
end

local function passes(id, key, got, score)
  local function of(name) return got[AT[name]] end
  -- RQ's registries also hold what is listed elsewhere: parked jobs as scheduled, quarantined ones as failed
  if o.state == 'scheduled' and of(F.parked) and of('status') == 'scheduled' then return false end
  if o.state == 'failed' and of(F.quarantined) and of('status') == 'failed' then return false end
  if o.only == 'retries' and num(of(F.failures), 0) <= 0 and num(of('number_of_retries'), 0) <= 0 then return false end
  if o.only == 'repeats' and num(of('repeats_left'), 0) <= 0 then return false end
  if o.func ~= '' and not has(of(F.func), o.func) then return false end
  if o.tag ~= '' and not (of(F.tags) and string.find(of(F.tags), SEP .. o.tag .. SEP, 1, true)) then return false end
  if o.error ~= '' and of(F.error) ~= o.error and not has(of(F.error_line), o.error) and not has(of(F.quarantined), o.error) then
    return false
  end
  if o.older > 0 or o.younger > 0 then
    local begun = begun_at(of(BEGUN), of('enqueued_at'), score)
    if not begun or (o.older > 0 and NOW - begun < o.older) or (o.younger > 0 and NOW - begun >= o.younger) then return false end
  end
  if o.any ~= '' and (has(of(F.func), o.any) or has(id, o.any)) then return true end
  local wanted = o.any ~= '' and o.any or o.text
  if wanted == '' then return true end
  local length = redis.pcall('HSTRLEN', key, 'description')
  return type(length) == 'number' and length > 0 and length <= LONGEST and has(redis.call('HGET', key, 'description'), wanted)
end

local rows, looked, first, last = {}, 0, {}, {}
-- consider(rank, member, score, index): looks at one entry; false when the page is full or enough was looked at
local function consider(rank, member, score, index)
  looked = looked + 1
  local place = {score, o.queues[rank], index, member}
  if #first < 3 then first[#first + 1] = place end
  last = {place, last[1], last[2]}
  local id = member
  local key = K.rq_job .. id
  local got = JUDGED[1] and redis.pcall('HMGET', key, unpack(JUDGED)) or {}
  if got.err then got = redis.call('HMGET', K.rq_job .. SEP, unpack(JUDGED)) end -- no hash: all fields are missing
  local shown = passes(id, key, got, score)
  if shown and o.plain == 1 then
    rows[#rows + 1] = {id, o.queues[rank], score, '', '', 0, ''}
  elseif shown then
    got = redis.pcall('HMGET', key, unpack(FIELDS))
    if got.err then got = redis.call('HMGET', K.rq_job .. SEP, unpack(FIELDS)) end
    local length = redis.pcall('HSTRLEN', key, 'description')
    if type(length) ~= 'number' then length = 0 end
    local row = {id, o.queues[rank], score, '', '', length, ''}
    for i = 1, #FIELDS do row[7 + i] = got[i] end
    local begun = begun_at(BEGUN == F.since and got[4] or got[BEGUN == 'started_at' and 6 or BEGUN == 'ended_at' and 7 or 8], got[5], score)
    if begun then row[4] = int(begun) end
    if length > 0 and length <= LONGEST then row[5] = string.sub(redis.call('HGET', key, 'description'), 1, 4000) end
    if o.state == 'quarantined' and redis.call('HSTRLEN', K.quarantine_info, id) <= LONGEST then
      row[7] = redis.call('HGET', K.quarantine_info, id) or ''
    end
    rows[#rows + 1] = row
  end
  return #rows < o.size and looked < o.budget
end

local total, left = 0, 0
for _, queue in ipairs(o.count == 1 and o.queues or {}) do
  local counted = redis.pcall(o.state == 'queued' and 'LLEN' or 'ZCARD', registry .. queue)
  if type(counted) == 'number' then total = total + counted end
end

local function walk_lists()
  local at, step = back and #o.queues or 1, back and -1 or 1
  if from then
    at = back and math.floor(from.rank) or math.ceil(from.rank)
    if at ~= from.rank then from = nil end
  end
  while o.queues[at] do
    local queue = o.queues[at]
    local list = K.rq_queue .. queue
    local length = redis.pcall('LLEN', list)
    if type(length) ~= 'number' then length = 0 end
    local i = back and length - 1 or 0
    if from and length > 0 then
      local place, exact = place_in_list(list, length, num(from.score, 0), from.index or 0, anchors)
      i = back and place - 1 or (exact and place + 1 or place)
    end
    from = nil
    while i >= 0 and i < length do
      local low = back and math.max(0, i - CHUNK + 1) or i
      local chunk = redis.call('LRANGE', list, low, back and i or i + CHUNK - 1)
      for n = 1, #chunk do
        local index = back and i - n + 1 or i + n - 1
        local id = chunk[index - low + 1]
        local since = redis.pcall('HGET', K.rq_job .. id, F.since)
        if not consider(at, id, type(since) == 'string' and since or int(NOW), index) then
          if (back and index > 0) or (not back and index < length - 1) or o.queues[at + step] then left = 1 end
          return
        end
      end
      i = back and i - #chunk or i + #chunk
    end
    at = at + step
  end
end

-- unparked(queue, entries, step): RQ's scheduled registry without the parked jobs in it; they may be its first thousands
local to_skip = 6000
local function unparked(queue, entries, step)
  if not entries[1] or to_skip <= 0 then return entries end
  local ids, out = {}, {}
  for i = 1, #entries, step do ids[#ids + 1] = entries[i] end
  local parked = redis.pcall('ZMSCORE', K.parked .. queue, unpack(ids))
  if parked.err then return entries end
  for n = 1, #ids do
    if parked[n] then
      to_skip = to_skip - 1
    else
      for i = (n - 1) * step + 1, n * step do out[#out + 1] = entries[i] end
    end
  end
  return out
end

-- heads(): of each queue the next entry; the best of all is taken, its queue refilled
local function walk_sets()
  local up = newest_first == back -- towards higher scores
  local heads = {}
  local function better(a, b)
    if a.n ~= b.n then return (a.n < b.n) == up end
    return (a.source.rank < b.source.rank) == up
  end
  local function put(head)
    local low, high = 1, #heads + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if better(heads[middle], head) then high = middle else low = middle + 1 end
    end
    table.insert(heads, low, head)
  end
  local function refill(source)
    while not (source.chunk and source.chunk[source.n]) do
      if source.i < 0 or source.i >= source.length then return end
      local low = up and source.i or math.max(0, source.i - source.span + 1)
      local high = up and source.i + source.span - 1 or source.i
      source.chunk, source.n = redis.call(up and 'ZRANGE' or 'ZREVRANGE', source.key, up and low or source.card - 1 - high,
        up and high or source.card - 1 - low, 'WITHSCORES'), 1
      source.i = up and high + 1 or low - 1
      if not source.chunk[1] then return end
      if o.state == 'scheduled' then source.chunk = unparked(o.queues[source.rank], source.chunk, 2) end
      if not source.chunk[1] then source.span = CHUNK end
    end
    local member, score = source.chunk[source.n], source.chunk[source.n + 1]
    source.n = source.n + 2
    return {member = member, score = score, n = tonumber(score), source = source}
  end
  for rank, queue in ipairs(o.queues) do
    local key = registry .. queue
    local card = redis.pcall('ZCARD', key)
    if type(card) == 'number' and card > 0 then
      local length = card
      -- quarantined jobs have no expiry: where only they have none, they are not looked at one by one
      if o.state == 'failed' then
        local held = redis.call('ZCARD', K.quarantined .. queue)
        if held > 0 and held == redis.call('ZCOUNT', key, '+inf', '+inf') then length = length - held end
      end
      local i = up and 0 or length - 1
      if from then
        local place, exact
        if rank == from.rank then
          place, exact = after_key(key, from.score, from.member)
        else
          place = redis.call('ZCOUNT', key, '-inf', (rank > from.rank and '(' or '') .. from.score)
        end
        i = up and place or math.min(place - (exact and 2 or 1), length - 1)
      end
      local span = math.max(4, math.ceil(CHUNK / #o.queues))
      heads[#heads + 1] = refill({key = key, rank = rank, card = card, length = length, i = i, span = span})
    end
  end
  table.sort(heads, function(a, b) return better(b, a) end)
  while #heads > 0 do
    local head = table.remove(heads)
    local following = refill(head.source)
    if following then put(following) end
    if not consider(head.source.rank, head.member, head.score, 0) then
      left = #heads > 0 and 1 or 0
      return
    end
  end
end

-- running jobs are as many as workers: ordered by start, which renewals do not change
local function walk_running()
  local found = {}
  for rank, queue in ipairs(o.queues) do
    local members = redis.pcall('ZRANGE', K.rq_wip .. queue, 0, math.max(0, 2000 - #found))
    for _, member in ipairs(members.err and {} or members) do
      local id = string.match(member, '^(.*):[^:]*$') or member
      local begun = iso_us(redis.call('HGET', K.rq_job .. id, 'started_at')) or 0
      found[#found + 1] = {rank = rank, member = id, n = begun}
    end
  end
  local function less(a, b)
    if a.n ~= b.n then return a.n < b.n end
    return before(a.member, b.member)
  end
  table.sort(found, less)
  local mark = from and {n = num(from.score, 0), member = from.member}
  for n = 1, #found do
    local entry = found[back and #found - n + 1 or n]
    if not mark or (back and less(entry, mark)) or (not back and less(mark, entry)) then
      if not consider(entry.rank, entry.member, int(entry.n), 0) then
        left = n < #found and 1 or 0
        return
      end
    end
  end
end

if o.state == 'queued' then walk_lists() elseif o.state == 'running' then walk_running() else walk_sets() end

-- how many of the scheduled retry or repeat: there is no index, so the first of them are looked at
local sample = {0, 0, 1}
if o.sample == 1 then
  local most = 300
  to_skip = 1000
  local function look(queue)
    local at = 0
    while true do
      local ids = redis.pcall('ZRANGE', K.rq_scheduled .. queue, at, at + CHUNK - 1)
      if ids.err or not ids[1] then return end
      for _, id in ipairs(unparked(queue, ids, 1)) do
        if most == 0 then
          sample[3] = 0
          return
        end
        most = most - 1
        local got = redis.pcall('HMGET', K.rq_job .. id, F.parked, F.failures, 'number_of_retries', 'repeats_left')
        if not got.err and not got[1] then
          if num(got[2], 0) > 0 or num(got[3], 0) > 0 then sample[1] = sample[1] + 1 end
          if num(got[4], 0) > 0 then sample[2] = sample[2] + 1 end
        end
      end
      at = at + CHUNK
    end
  end
  for _, queue in ipairs(o.queues) do look(queue) end
end
local cron = {}
if o.cron == 1 then
  for _, name in ipairs(redis.call('ZREVRANGE', K.rq_cron_schedulers, 0, 9)) do
    local size = redis.pcall('HSTRLEN', K.rq_cron_scheduler .. name, 'cron_jobs')
    if type(size) == 'number' and size > 0 and size <= 200000 then
      cron[#cron + 1] = {name, redis.call('HGET', K.rq_cron_scheduler .. name, 'cron_jobs')}
    end
  end
end

local function key_of(places)
  if not places or not places[1] then return {} end
  local out = {places[1][1], places[1][2], places[1][3]}
  for n, place in ipairs(places) do
    if n == 1 or place[2] == places[1][2] then out[#out + 1] = place[4] end
  end
  return out
end
return {int(NOW), rows, looked, left, total, key_of(first), key_of(last), sample, cron}
