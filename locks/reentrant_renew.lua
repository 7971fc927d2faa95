-- Prolongs the lock if its owner holds it.
-- KEYS[1] lock (a hash: owner to holds), ARGV[1] owner, ARGV[2] TTL in ms.
-- Answers 1: prolonged, 0: not the caller's.
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
