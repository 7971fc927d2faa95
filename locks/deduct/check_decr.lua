-- Takes one unit off if there is one.
-- KEYS: stock, ledger. ARGV: sku, operation, fence. Answers what is left, nil: there was none.
local found = tonumber(redis.call('get', KEYS[1]) or '0')
if found <= 0 then
  return false
end
local left = redis.call('decr', KEYS[1])
record(KEYS[2], ARGV[1], ARGV[2], '-', number(found), number(left), ARGV[3])
return left
