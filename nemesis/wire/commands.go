package wire

import "strings"

// spec is what is to be known of a command.
type spec struct {
	name   string
	key    int  // index of its first key; 0: none
	counts int  // index of the number of keys, when there may be none; 0: there is no such number
	script byte // kind of its argument 1; 0: none
	stream bool // its first key follows STREAMS
	role   role
}

// role is what a command means for the replies on its connection.
type role uint8

const (
	ordinary    role = iota // one reply, and no more
	subscribe               // one confirmation for each channel
	unsubscribe             // as well; without channels for each that there is
	monitor                 // one reply, then lines without end
	multi                   // begins a transaction
	exec                    // ends it; DISCARD too
	reset                   // ends all of these; RESET
	clientReply             // CLIENT: its REPLY switches replies on and off
	hello                   // may switch the protocol
	replicate               // turns the connection into a replica's: SYNC, PSYNC
)

// The commands by the index of their first key.
const (
	keyFirst = `APPEND BITCOUNT BITFIELD BITFIELD_RO BITPOS BLMOVE BLPOP BRPOP BRPOPLPUSH BZPOPMAX BZPOPMIN COPY DECR
		DECRBY DEL DUMP EXISTS EXPIRE EXPIREAT EXPIRETIME GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER
		GEOSEARCH GEOSEARCHSTORE GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HEXISTS HEXPIRE HEXPIREAT HGET HGETALL
		HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HPERSIST HPEXPIRE HPTTL HRANDFIELD HSCAN HSET HSETEX
		HSETNX HSTRLEN HTTL HVALS INCR INCRBY INCRBYFLOAT LCS LINDEX LINSERT LLEN LMOVE LPOP LPOS LPUSH LPUSHX LRANGE
		LREM LSET LTRIM MGET MOVE MSET MSETNX PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PFADD PFCOUNT PFMERGE PSETEX PTTL
		PUBLISH RENAME RENAMENX RESTORE RPOP RPOPLPUSH RPUSH RPUSHX SADD SCARD SDIFF SDIFFSTORE SET SETBIT SETEX SETNX
		SETRANGE SINTER SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SORT SORT_RO SPOP SPUBLISH SRANDMEMBER SREM
		SSCAN STRLEN SUBSTR SUNION SUNIONSTORE TOUCH TTL TYPE UNLINK WATCH XACK XADD XAUTOCLAIM XCLAIM XDEL XLEN
		XPENDING XRANGE XREVRANGE XSETID XTRIM ZADD ZCARD ZCOUNT ZDIFFSTORE ZINCRBY ZINTERSTORE ZLEXCOUNT ZMSCORE
		ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX
		ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNIONSTORE
		DELIFEQ`
	keySecond = `BITOP LMPOP OBJECT SINTERCARD XGROUP XINFO ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION`
	keyThird  = `BLMPOP BZMPOP`
	keyless   = `ACL ASKING AUTH BGREWRITEAOF BGSAVE CLUSTER COMMAND CONFIG DBSIZE DEBUG ECHO FAILOVER FLUSHALL
		FLUSHDB FUNCTION INFO KEYS LASTSAVE LATENCY MEMORY MIGRATE MODULE PING PUBSUB QUIT RANDOMKEY READONLY READWRITE
		REPLCONF REPLICAOF ROLE SAVE SCAN SCRIPT SELECT SENTINEL SHUTDOWN SLAVEOF SLOWLOG SWAPDB TIME UNWATCH WAIT
		WAITAOF`
)

// specs are the commands that are known, by name.
var specs = func() map[string]*spec {
	all := make(map[string]*spec)
	for key, names := range []string{keyless, keyFirst, keySecond, keyThird} {
		for name := range strings.FieldsSeq(names) {
			all[name] = &spec{name: name, key: key}
		}
	}
	for _, s := range []spec{
		{name: "EVAL", key: 3, counts: 2, script: scriptBody},
		{name: "EVAL_RO", key: 3, counts: 2, script: scriptBody},
		{name: "EVALSHA", key: 3, counts: 2, script: scriptSHA},
		{name: "EVALSHA_RO", key: 3, counts: 2, script: scriptSHA},
		{name: "FCALL", key: 3, counts: 2, script: scriptName},
		{name: "FCALL_RO", key: 3, counts: 2, script: scriptName},
		{name: "XREAD", stream: true},
		{name: "XREADGROUP", stream: true},
		{name: "SUBSCRIBE", key: 1, role: subscribe},
		{name: "PSUBSCRIBE", key: 1, role: subscribe},
		{name: "SSUBSCRIBE", key: 1, role: subscribe},
		{name: "UNSUBSCRIBE", key: 1, role: unsubscribe},
		{name: "PUNSUBSCRIBE", key: 1, role: unsubscribe},
		{name: "SUNSUBSCRIBE", key: 1, role: unsubscribe},
		{name: "MONITOR", role: monitor},
		{name: "MULTI", role: multi},
		{name: "EXEC", role: exec},
		{name: "DISCARD", role: exec},
		{name: "RESET", role: reset},
		{name: "CLIENT", role: clientReply},
		{name: "HELLO", role: hello},
		{name: "SYNC", role: replicate},
		{name: "PSYNC", role: replicate},
	} {
		all[s.name] = &s
	}
	return all
}()

// lookup finds a command by its name in any case. One that is not known has no key.
func lookup(name []byte) *spec {
	var upper [24]byte // longer than any known name
	if len(name) > len(upper) {
		return &spec{name: strings.ToUpper(string(name))}
	}
	for i, c := range name {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	if s, ok := specs[string(upper[:len(name)])]; ok {
		return s
	}
	return &spec{name: string(upper[:len(name)])}
}

// keyless: it never has a key.
func (s *spec) keyless() bool { return s.key == 0 && !s.stream }

// firstKey finds the first key among the first arguments; empty: there is none.
func (s *spec) firstKey(args [][]byte) string {
	at := s.key
	if s.counts != 0 && (len(args) <= s.counts || string(args[s.counts]) == "0") {
		return ""
	}
	if s.stream {
		for i, arg := range args {
			if i > 0 && strings.EqualFold(string(arg), "STREAMS") {
				at = i + 1
				break
			}
		}
	}
	if at == 0 || at >= len(args) {
		return ""
	}
	return string(args[at])
}
