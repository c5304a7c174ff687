-- What time brings, for queues that no worker serves: ended leases, room in lines, scheduled and parked jobs.
-- ARGV: queues (JSON), client time (ISO)
-- Returns {leases ended, instances looked at, jobs moved, parked jobs looked at}
--- include door
if redis.call('EXISTS', K.epoch) == 0 then return {0, 0, 0, 0} end
local leases, pumped, moved, parked = end_due_leases(50), run_pump(50), 0, 0
for _, queue in ipairs(cjson.decode(ARGV[1])) do
  if not paused_queue(queue) then
    local _, n = attempt(move_due, queue, ARGV[2], 20)
    local _, m = attempt(recheck_parked, queue, 20)
    moved, parked = moved + (tonumber(n) or 0), parked + (tonumber(m) or 0)
  end
end
if PROBLEM then return problem_reply(cjson.decode(ARGV[1])) end
return {leases, pumped, moved, parked}
