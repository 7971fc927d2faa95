-- S2's release with two words changed: "in" is reserved in Lua, and the printed 'OK' for
-- both outcomes would leave the record to guess whether the key was deleted.
-- KEYS[1] lock, ARGV[1] token. Answers 1: freed, 0: not the caller's.
local want = ARGV[1]
local curr = redis.call('get', KEYS[1])
if want == curr then
  return redis.call('del', KEYS[1])
end
return 0
