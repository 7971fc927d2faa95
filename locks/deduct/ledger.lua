-- Goes before every script that writes to the stock: the one place that says how a ledger
-- entry is written. A relative write has the basis '-'.
local function number(n)
  return string.format('%.0f', n)
end
local function record(ledger, sku, op, basis, found, left, fence)
  redis.call('rpush', ledger, table.concat({sku, op, basis, found, left, fence}, '|'))
end
