-- Writes a level, whatever stands there: a blind SET.
-- KEYS: stock, ledger. ARGV: sku, operation, fence, basis, left.
-- A missing key counts as 0, as it does for INCRBY.
local found = number(tonumber(redis.call('get', KEYS[1]) or '0'))
redis.call('set', KEYS[1], ARGV[5])
record(KEYS[2], ARGV[1], ARGV[2], ARGV[4], found, ARGV[5], ARGV[3])
return 'OK'
