-- Takes one unit off if there is one, once for each operation: one that is sent again is
-- answered as before.
-- KEYS: stock, ledger, done (a hash: operation to what it left). ARGV: sku, operation, fence.
-- Answers what is left, nil: there was none.
local done = redis.call('hget', KEYS[3], ARGV[2])
if done then
  return tonumber(done)
end
local found = tonumber(redis.call('get', KEYS[1]) or '0')
if found <= 0 then
  return false
end
local left = redis.call('decr', KEYS[1])
redis.call('hset', KEYS[3], ARGV[2], left)
record(KEYS[2], ARGV[1], ARGV[2], '-', number(found), number(left), ARGV[3])
return left
