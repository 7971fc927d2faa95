-- Takes the lock for its owner, or once more.
-- KEYS[1] lock (a hash: owner to holds), ARGV[1] owner, ARGV[2] TTL in ms.
-- Answers the owner's holds after the call, 0: somebody else has the lock.
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  local holds = redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return holds
end
return 0
