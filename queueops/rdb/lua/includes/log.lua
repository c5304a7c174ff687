-- log(event, fields): one line of the changelog, and of the history of the control instance in fields.c, which a busier
-- one cannot push out. A length of 0 switches either off. A long changelog is capped in whole nodes of 100 entries: to
-- cut exactly one entry for each new one costs half as much again. Somebody else's key of that name stops no door.
local CAP = C.log_length >= 1000 and '~' or '='
local function log(event, fields)
  local instance = C.history_length > 0 and fields.c ~= '' and fields.c
  if C.log_length == 0 and not instance then return end
  local args = {K.log, 'MAXLEN', CAP, C.log_length, '*', 'e', event}
  for name, value in pairs(fields) do
    if value and value ~= '' then
      args[#args + 1] = name
      args[#args + 1] = tostring(value)
    end
  end
  if C.log_length > 0 then redis.pcall('XADD', unpack(args)) end
  if instance then
    args[1], args[3], args[4] = K.history .. instance, '=', C.history_length
    redis.pcall('XADD', unpack(args))
    redis.call('PEXPIRE', args[1], C.history_ms)
  end
end
local SUBJECTS = {L = 'lock', S = 'semaphore', R = 'rate', P = 'pause', U = 'unique', X = 'unique_run', B = 'breaker'}
local function subject(instance) return SUBJECTS[string.sub(instance, 1, 1)] or 'control' end
