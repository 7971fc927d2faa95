-- Takes the lock if nobody has it.
-- KEYS[1] lock, ARGV[1] token, ARGV[2] TTL in ms.
-- Answers {1, 0}: taken, or {0, ms}: somebody has it for so long yet (-1: without an end).
if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
  return {1, 0}
end
return {0, redis.call('pttl', KEYS[1])}
