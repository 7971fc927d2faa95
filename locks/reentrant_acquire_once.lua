-- Takes the lock for its owner, or once more, but only once for each operation.
-- KEYS: lock (a hash: owner to holds), note of the operation. ARGV: owner, TTL in ms, life
-- of the note in ms, 1 if this is not the operation's first try.
-- Answers the owner's holds after the call, 0: somebody else has the lock.
local answer = redis.call('get', KEYS[2])
if answer then
  return tonumber(answer)
end
local holds = 0
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  holds = redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
end
-- A refusal is noted only where an earlier try may still be on its way.
if holds > 0 or ARGV[4] == '1' then
  redis.call('set', KEYS[2], holds, 'px', ARGV[3])
end
return holds
