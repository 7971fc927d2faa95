-- Takes one unit off, without a look at the level.
-- KEYS: stock (a hash), ledger. ARGV: sku, operation, fence. Answers what is left.
local left = redis.call('hincrby', KEYS[1], 'stock', -1)
record(KEYS[2], ARGV[1], ARGV[2], '-', number(left + 1), number(left), ARGV[3])
return left
