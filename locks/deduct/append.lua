-- Writes down what was done to a level that is not kept here.
-- KEYS: ledger. ARGV: sku, operation, fence, basis, found, left.
record(KEYS[1], ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6], ARGV[3])
return 'OK'
