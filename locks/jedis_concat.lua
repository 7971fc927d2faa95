if redis.call('get','{key}')=='{val}' then     return redis.call('del','{key}') else     return 0 end
