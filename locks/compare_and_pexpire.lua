-- Prolongs the lock if it is the caller's.
-- KEYS[1] lock, ARGV[1] token, ARGV[2] TTL in ms. Answers 1: prolonged, 0: not the caller's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
else
  return 0
end
