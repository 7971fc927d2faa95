-- Frees the lock if it is the caller's, and wakes the waiters.
-- KEYS[1] lock, KEYS[2] channel, ARGV[1] token. Answers 1: freed, 0: not the caller's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], 'unlocked')
  return 1
end
return 0
