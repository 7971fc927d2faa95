-- Frees the lock if it is the caller's, and notes that it did, so that the same release
-- sent again is answered as the first was.
-- KEYS: lock, note of the token. ARGV: token, life of the note in ms.
-- Answers 1: freed, now or by an earlier try; 0: not the caller's.
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('set', KEYS[2], '1', 'px', ARGV[2])
  return redis.call('del', KEYS[1])
end
return redis.call('exists', KEYS[2])
