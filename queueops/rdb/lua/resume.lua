-- resume.lua: takes a pause away and lets waiting jobs in, a bounded number per call.
-- ARGV: field of K.paused, id of the record to take away ("" = whichever is there), by, why, most jobs to let in
-- Answer: {1 when a record went, jobs let in, jobs still in the line}
-- Events: queue.resumed, function.resumed, all.resumed; job.woken for each job let in
--- include door
--- include record
local field, id, by, why, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
local raw = redis.call('HGET', K.paused, field)
local went = 0
if raw then
  local record = decoded(raw)
  if id == '' or not record or record.id == id then went = 1 end
end
if went == 1 then
  redis.call('HDEL', K.paused, field)
  if kind == 'q:' then
    log('queue.resumed', {q = name, by = by, why = why})
  elseif kind == 'f:' then
    log('function.resumed', {f = name, by = by, why = why})
  else
    log('all.resumed', {by = by, why = why})
  end
end
local let, left = 0, 0
if kind == 'f:' then
  -- under another pause of the same function, the line stays
  if not paused_function(name) then let = let_in(name, most) end
  left = redis.call('ZCARD', K.line .. pause_claim(name).i)
elseif kind == 'q:' then
  ring(name)
else
  for _, queue in ipairs(redis.call('ZREVRANGE', K.queues, 0, 199)) do ring(queue) end
end
return {went, let, left}
