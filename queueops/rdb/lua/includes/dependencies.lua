-- note_dependencies(queue, func, told): what a run used outside, in its function's minute; after includes count
-- told: {{name, calls, errors, all times (µs), {bin: calls}}, ...}; the 21st name of a minute and all after it are '…'
local function note_dependencies(queue, func, told)
  if type(told) ~= 'table' or #told == 0 then return end
  local minute = minute_key(queue, func)
  local function add(kind, name, n) redis.pcall('HINCRBY', minute, 'd' .. kind .. SEP .. name, int(n)) end
  for _, used in ipairs(told) do
    local name = used[1]
    if redis.pcall('HEXISTS', minute, 'dn' .. SEP .. name) == 0 then
      local names = redis.pcall('HINCRBY', minute, 'dk', 1)
      if type(names) == 'number' and names > 20 then name = '…' end
    end
    add('n', name, used[2])
    if used[3] > 0 then add('e', name, used[3]) end
    add('t', name, used[4])
    for bin, n in pairs(used[5]) do add(bin, name, n) end
  end
  redis.call('EXPIRE', minute, 10860)
end
