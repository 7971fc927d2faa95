-- Takes the lock if nobody has it, and mints the next fencing token in the same step.
-- KEYS[1] lock, KEYS[2] counter, ARGV[1] token, ARGV[2] TTL in ms.
-- Answers the fencing token, 0: somebody has the lock.
if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
  return redis.call('incr', KEYS[2])
end
return 0
