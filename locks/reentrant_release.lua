-- Gives back one hold, and the lock with the last.
-- KEYS[1] lock, ARGV[1] owner. Answers the owner's holds left, -1: it had none.
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return -1
end
local holds = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if holds <= 0 then
  redis.call('del', KEYS[1])
end
return holds
