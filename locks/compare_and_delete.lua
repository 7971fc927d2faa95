-- Frees the lock if it is the caller's: the script of S0, S1 V5 and S4.4.
-- KEYS[1] lock, ARGV[1] token. Answers 1: freed, 0: not the caller's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
else
  return 0
end
