-- Reads a level. KEYS: stock. Answers it, nil: there is none.
return redis.call('get', KEYS[1])
