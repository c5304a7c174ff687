-- list_functions.lua: what functions did in the last minutes, summed; it writes nothing.
-- ARGV: options (JSON): all (1: of all queues), queue, search (in lower case), looked (functions), offset, size, minutes,
--   whole (0|1: without the running minute), active (0|1: only those that did something in these minutes), plus (events)
-- Returns {now, epoch or '', counting since or '', functions that match, rows}
--   a row: {queue, function, {field, sum, ...}, sums of plus by minute, completed by minute}, oldest minute first,
--   -1 where nothing was counted
--- include time
--- include record
local o = cjson.decode(ARGV[1])
local function what(answer) return type(answer) == 'string' and answer or '' end
local stop = math.floor(NOW / 60000000) * 60 + (o.whole == 1 and 0 or 60)
local start = stop - o.minutes * 60

local matching, chosen = 0, {}
local seen = redis.pcall('ZREVRANGE', K.functions, 0, o.looked - 1, 'WITHSCORES')
for i = 1, seen.err and 0 or #seen, 2 do
  local queue, func = string.match(seen[i], '^(.*)' .. SEP .. '(.*)$')
  local wanted = queue and (o.all == 1 or queue == o.queue) and string.find(string.lower(func), o.search, 1, true)
  if wanted and (o.active == 0 or tonumber(seen[i + 1]) >= start * 1000000) then
    matching = matching + 1
    if matching > o.offset and #chosen < o.size then chosen[#chosen + 1] = {queue, func} end
  end
end

for _, row in ipairs(chosen) do
  local sums, names, arrived, completed = {}, {}, {}, {}
  for at = start, stop - 60, 60 do
    local got = redis.pcall('HGETALL', K.minute .. int(at) .. SEP .. row[1] .. SEP .. row[2])
    local some, minute = not got.err and #got > 0, {}
    for i = 1, some and #got or 0, 2 do
      local name, n = got[i], math.max(0, num(got[i + 1], 0))
      if not sums[name] then names[#names + 1] = name end
      sums[name], minute[name] = (sums[name] or 0) + n, n
    end
    local plus = 0
    for _, event in ipairs(o.plus) do plus = plus + (minute[event] or 0) end
    arrived[#arrived + 1], completed[#completed + 1] = some and plus or -1, some and minute.completed or (some and 0 or -1)
  end
  local flat = {}
  for _, name in ipairs(names) do
    flat[#flat + 1] = name
    flat[#flat + 1] = int(sums[name])
  end
  row[3], row[4], row[5] = flat, arrived, completed
end
return {int(NOW), what(redis.pcall('GET', K.epoch)), what(redis.pcall('GET', K.counting_since)), matching, chosen}
