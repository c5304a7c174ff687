-- attempt(f, ...) -> ok, results: a failure half way (a key that holds something else) is kept, to be told when all else
-- is done. blame(instances): those that may be its cause. problem_reply(queues): the error that tells.
local PROBLEM
local function attempt(f, ...)
  local ok, a, b = pcall(f, ...)
  if not ok and not PROBLEM then PROBLEM = {why = type(a) == 'table' and a.err or tostring(a), instances = {}} end
  return ok, a, b
end
local function blame(instances)
  for _, instance in ipairs(instances) do
    if #PROBLEM.instances < 200 then PROBLEM.instances[#PROBLEM.instances + 1] = instance end
  end
end
local function problem_reply(queues)
  PROBLEM.queues = queues
  return redis.error_reply('QO UNREADABLE ' .. cjson.encode(PROBLEM))
end
