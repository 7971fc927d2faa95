-- Writes the token over whatever the key has, if there is a key. It is SET with XX and PX
-- in a script, so that a renewal can be told from an acquire on the wire.
-- KEYS[1] lock, ARGV[1] token, ARGV[2] TTL in ms. Answers 1: written, 0: there is no key.
if redis.call('set', KEYS[1], ARGV[1], 'xx', 'px', ARGV[2]) then
  return 1
end
return 0
