-- Gives back one hold, and the lock with the last, but only once for each operation.
-- KEYS: lock, note of the operation. ARGV: owner, life of the note in ms, 1 if this is not
-- the operation's first try.
-- Answers the owner's holds left, -1: it had none.
local answer = redis.call('get', KEYS[2])
if answer then
  return tonumber(answer)
end
local holds = -1
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  holds = redis.call('hincrby', KEYS[1], ARGV[1], -1)
  if holds <= 0 then
    redis.call('del', KEYS[1])
  end
end
-- A refusal is noted only where an earlier try may still be on its way.
if holds >= 0 or ARGV[3] == '1' then
  redis.call('set', KEYS[2], holds, 'px', ARGV[2])
end
return holds
