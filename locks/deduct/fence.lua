-- Goes before every script of the fenced deduction: raises the highest fencing token that
-- was seen, and refuses a lower one.
-- The last of KEYS: highest token seen. ARGV: sku, operation, fence.
do
  local highest = KEYS[#KEYS]
  local seen = redis.call('get', highest) or '0'
  if tonumber(ARGV[3]) < tonumber(seen) then
    return redis.error_reply('STALE token ' .. ARGV[3] .. ': ' .. seen .. ' was seen')
  end
  redis.call('set', highest, ARGV[3])
end
