-- Charges a rate, or says when to come back.
-- ARGV: claim (JSON), token of this hit, blind (0|1: go on though the settings of the operators are not mirrored)
-- Returns {1, 0} | {0, retry after (µs, -1: only a change of the limit can tell)}
-- Errors: QO MIRROR_MISSING
-- Events: none
--- include time
--- include log
--- include count
--- include bell
--- include slots
--- include controls
--- include pauses
--- include line
--- include start
local claim, token = cjson.decode(ARGV[1]), ARGV[2]
if ARGV[3] == '0' and redis.call('EXISTS', K.epoch) == 0 then return redis.error_reply('QO MIRROR_MISSING') end
local instance = claim.i
-- the client's own repetition after a lost answer
if redis.call('ZSCORE', K.holders .. instance, token) then return {1, '0'} end
local offer = redis.call('ZRANGE', K.offers .. instance, 0, 0, 'WITHSCORES')
if offer[2] and tonumber(offer[2]) <= NOW then tidy(instance) end
for _ = 1, 10 do
  local verdict, _, due = refusal(token, NOW, {claim})
  if verdict == 'ok' then
    take(claim, token, token, NOW)
    return {1, '0'}
  end
  if verdict == 'no' then
    due = due or tonumber(redis.call('ZSCORE', K.pump, instance) or '')
    return {0, due and int(math.max(due - NOW, 1)) or '-1'}
  end
end
return {0, '1'}
