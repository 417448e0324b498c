"""The Lua scripts of the Redis store; each runs as one step that nobody interrupts.

``KEYS[1]`` is the prefix of all keys, with a hash tag, so that a cluster keeps them in one place:

* ``e:KEY``: a hash with ``v`` (the packed entry), ``s`` (its scopes), ``g`` (their generations);
* ``b:SCOPE``: the current generation;
* ``w:SCOPE``: a sorted set of running writers by the millisecond at which their lease lapses;
* ``c:KEY``: the owner of a claim;
* ``size``, ``ns`` (hashes), ``used``, ``expires`` (sorted sets), ``bytes``: what is kept, by key;
* ``n:NAMESPACE``: the set of keys of a namespace.
"""

_COMMON = """
local p = KEYS[1]
-- Longer than any result is kept. A generation that is gone makes results unusable, never usable.
local barrier_ms = 31 * 86400 * 1000
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function running(scopes)
  for _, scope in ipairs(scopes) do
    if redis.call('ZCOUNT', p .. 'w:' .. scope, '(' .. now(), '+inf') > 0 then return true end
  end
  return false
end
local function forget(key)
  redis.call('DEL', p .. 'e:' .. key)
  local size = redis.call('HGET', p .. 'size', key)
  if not size then return 0 end
  local namespace = redis.call('HGET', p .. 'ns', key)
  redis.call('DECRBY', p .. 'bytes', size)
  redis.call('HDEL', p .. 'size', key)
  redis.call('HDEL', p .. 'ns', key)
  redis.call('ZREM', p .. 'used', key)
  redis.call('ZREM', p .. 'expires', key)
  redis.call('SREM', p .. 'n:' .. namespace, key)
  return 1
end
local function expire(until_us, limit)
  local gone = redis.call('ZRANGEBYSCORE', p .. 'expires', '-inf', until_us, 'LIMIT', 0, limit)
  for _, key in ipairs(gone) do forget(key) end
  return #gone
end
local function release(key, owner)
  if redis.call('GET', p .. 'c:' .. key) == owner then redis.call('DEL', p .. 'c:' .. key) end
end
"""

# ARGV: key, now in microseconds
LOOKUP = (
    _COMMON
    + """
local e = redis.call('HMGET', p .. 'e:' .. ARGV[1], 'v', 's', 'g')
if not (e[1] and e[2] and e[3]) then return {0} end
local scopes, generations = cjson.decode(e[2]), cjson.decode(e[3])
if running(scopes) then return {1} end
for i, scope in ipairs(scopes) do
  if redis.call('GET', p .. 'b:' .. scope) ~= generations[i] then return {1} end
end
redis.call('ZADD', p .. 'used', 'XX', ARGV[2], ARGV[1])
return {2, e[1]}
"""
)

# ARGV: key, owner, lease in milliseconds, scopes, tokens for scopes that have no generation
CLAIM = (
    _COMMON
    + """
local scopes, tokens = cjson.decode(ARGV[4]), cjson.decode(ARGV[5])
local found = {}
for i, scope in ipairs(scopes) do
  redis.call('SET', p .. 'b:' .. scope, tokens[i], 'NX', 'PX', barrier_ms)
  found[i] = redis.call('GET', p .. 'b:' .. scope)
end
local granted = redis.call('SET', p .. 'c:' .. ARGV[1], ARGV[2], 'NX', 'PX', ARGV[3])
if running(scopes) then found = {} end
return {granted and 1 or 0, found}
"""
)

# ARGV: key, owner, packed entry, scopes, generations, namespace, size, expires and now in
# microseconds, life in milliseconds, most bytes, start and now in nanoseconds as 20 digits, which
# no number of Lua holds
PUT = (
    _COMMON
    + """
local key = ARGV[1]
release(key, ARGV[2])
local scopes, generations = cjson.decode(ARGV[4]), cjson.decode(ARGV[5])
local overtaken = running(scopes)
for i, scope in ipairs(scopes) do
  if redis.call('GET', p .. 'b:' .. scope) ~= generations[i] then overtaken = true end
end
local other = redis.call('HMGET', p .. 'e:' .. key, 't', 's', 'g')
if not overtaken and other[1] and other[1] > ARGV[12] and other[1] <= ARGV[13]
    and other[2] == ARGV[4] and other[3] == ARGV[5] then return {2, 0} end
forget(key)
if overtaken then return {0, 0} end
expire(ARGV[9], 64)
redis.call('HSET', p .. 'e:' .. key, 'v', ARGV[3], 's', ARGV[4], 'g', ARGV[5],
  't', ARGV[12])
redis.call('PEXPIRE', p .. 'e:' .. key, ARGV[10])
redis.call('HSET', p .. 'size', key, ARGV[7])
redis.call('HSET', p .. 'ns', key, ARGV[6])
redis.call('SADD', p .. 'n:' .. ARGV[6], key)
redis.call('ZADD', p .. 'used', ARGV[9], key)
redis.call('ZADD', p .. 'expires', ARGV[8], key)
local bytes, evicted = redis.call('INCRBY', p .. 'bytes', ARGV[7]), 0
while bytes > tonumber(ARGV[11]) do
  local oldest = redis.call('ZRANGE', p .. 'used', 0, 1)
  local goes = oldest[1] == key and oldest[2] or oldest[1]
  if not goes or goes == key then break end
  evicted = evicted + forget(goes)
  bytes = tonumber(redis.call('GET', p .. 'bytes'))
end
return {1, evicted}
"""
)

# ARGV: key, owner
RELEASE = _COMMON + "release(ARGV[1], ARGV[2])"

# ARGV: "1" for a writer that begins, writer, lease in milliseconds, scopes, tokens
WRITE = (
    _COMMON
    + """
local tokens = cjson.decode(ARGV[5])
for i, scope in ipairs(cjson.decode(ARGV[4])) do
  redis.call('SET', p .. 'b:' .. scope, tokens[i], 'PX', barrier_ms)
  local writers = p .. 'w:' .. scope
  redis.call('ZREMRANGEBYSCORE', writers, '-inf', now())
  if ARGV[1] == '1' then
    redis.call('ZADD', writers, now() + ARGV[3], ARGV[2])
    redis.call('SADD', p .. 'scopes:' .. ARGV[2], scope)
    redis.call('PEXPIRE', p .. 'scopes:' .. ARGV[2], ARGV[3])
  else
    redis.call('ZREM', writers, ARGV[2])
  end
end
if ARGV[1] ~= '1' then redis.call('DEL', p .. 'scopes:' .. ARGV[2]) end
"""
)

# ARGV: lease in milliseconds, claims as a flat list of key and owner, writers
RENEW = (
    _COMMON
    + """
local claims = cjson.decode(ARGV[2])
for i = 1, #claims, 2 do
  if redis.call('GET', p .. 'c:' .. claims[i]) == claims[i + 1] then
    redis.call('PEXPIRE', p .. 'c:' .. claims[i], ARGV[1])
  end
end
for _, writer in ipairs(cjson.decode(ARGV[3])) do
  local mine = p .. 'scopes:' .. writer
  for _, scope in ipairs(redis.call('SMEMBERS', mine)) do
    redis.call('ZADD', p .. 'w:' .. scope, 'XX', now() + ARGV[1], writer)
  end
  redis.call('PEXPIRE', mine, ARGV[1])
end
"""
)

# ARGV: key
FORGET = _COMMON + "return forget(ARGV[1])"

# ARGV: namespace
CLEAR = (
    _COMMON
    + """
local gone = 0
for _, key in ipairs(redis.call('SMEMBERS', p .. 'n:' .. ARGV[1])) do gone = gone + forget(key) end
return gone
"""
)

# ARGV: microseconds until which what expires goes
EXPIRE = _COMMON + "return expire(ARGV[1], 10000)"
