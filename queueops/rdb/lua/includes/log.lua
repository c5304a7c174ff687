-- log(event, fields): one line of the changelog; a length of 0 switches it off. A long one is capped in whole nodes
-- of 100 entries: to cut exactly one entry for each new one costs half as much again.
local CAP = C.log_length >= 1000 and '~' or '='
local function log(event, fields)
  if C.log_length == 0 then return end
  local args = {K.log, 'MAXLEN', CAP, C.log_length, '*', 'e', event}
  for name, value in pairs(fields) do
    if value and value ~= '' then
      args[#args + 1] = name
      args[#args + 1] = tostring(value)
    end
  end
  redis.call('XADD', unpack(args))
end
local SUBJECTS = {L = 'lock', S = 'semaphore', R = 'rate', P = 'pause'}
local function subject(instance) return SUBJECTS[string.sub(instance, 1, 1)] or 'control' end
