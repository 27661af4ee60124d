-- Requests for wrk. All are prepared in `init`; `request` only replaces the digits of ids.
-- Arguments, as name=value: kind (event, user, page), key, run (the first 24 characters of the ids; none: no ids), users,
-- choice (uniform, zipf, next), events (of a batch; 1: single events), minimal (true: a batch prefers minimal replies), threads.
local bit = require("bit")
local floor, random, pow = math.floor, math.random, math.pow
local format, concat = string.format, table.concat

local started = 0
function setup(thread)
  thread:set("number", started)
  started = started + 1
end

-- As `userIdAt` of events.ts. Exact below 2,000,000 users, where the product stays below 2^51.
local function userDigits(user) return bit.tohex(user * 1103515245) end

-- Zipf with exponent 0.99 by Gray's method, as YCSB does: a draw costs one power.
local function zipf(users)
  local theta = 0.99
  local zeta = 0
  for rank = 1, users do zeta = zeta + 1 / pow(rank, theta) end
  local alpha = 1 / (1 - theta)
  local eta = (1 - pow(2 / users, 1 - theta)) / (1 - (1 + pow(0.5, theta)) / zeta)
  local second = 1 + pow(0.5, theta)
  return function()
    local share = random()
    local scaled = share * zeta
    if scaled < 1 then return 0 end
    if scaled < second then return 1 end
    return floor(users * pow(eta * share - eta + 1, alpha))
  end
end

local function chooser(options)
  local users = options.users
  if options.choice == "zipf" then return zipf(users) end
  if options.choice == "next" then
    local position = number - options.threads
    return function()
      position = (position + options.threads) % users
      return position
    end
  end
  return function() return random(0, users - 1) end
end

local function any(list) return list[random(#list)] end

local courses = { "algebra-1", "spanish-a2", "music-theory", "world-history", "typescript-basics" }
local devices = { "iphone-15", "pixel-8", "web-chrome", "web-safari", "ipad-air" }

local function event(run)
  return string.format(
    '{%s"userId":"user_<user>","action":"LESSON_DONE","metadata":{"lessonId":"lesson-%d",'
      .. '"course":"%s","score":%d,"durationSeconds":%d,"device":"%s","appVersion":"4.%d.%d"}}',
    run == "none" and "" or '"id":"' .. run .. '<id>",', random(0, 1999), any(courses), random(0, 100), random(30, 1829), any(devices), random(0, 19), random(0, 9)
  )
end

-- The text in parts. Those at `ids` and `users` are digits, which each request replaces: code of LuaJIT's interpreter, since
-- what C calls is seldom compiled, so that a few functions in C beat a loop over bytes.
local function prepared(text)
  local parts, ids, users = {}, {}, {}
  local at = 1
  while true do
    local first, last, mark = string.find(text, "<(%l+)>", at)
    if not first then break end
    parts[#parts + 1] = string.sub(text, at, first - 1)
    parts[#parts + 1] = ""
    local places = mark == "id" and ids or users
    places[#places + 1] = #parts
    at = last + 1
  end
  parts[#parts + 1] = string.sub(text, at)
  return { parts = parts, ids = ids, users = users }
end

local function head(method, path, key, more)
  return method .. " " .. path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"]
    .. "\r\nAuthorization: Bearer " .. key .. "\r\n" .. (more or "") .. "\r\n"
end

local function post(path, key, body, more)
  local length = #string.gsub(string.gsub(body, "<id>", string.rep("0", 12)), "<user>", string.rep("0", 8))
  return head("POST", path, key, "Content-Type: application/json\r\nContent-Length: " .. length .. "\r\n" .. (more or "")) .. body
end

function init(args)
  local options = {}
  for _, argument in ipairs(args) do
    local name, value = string.match(argument, "^(%w+)=(.*)$")
    if name then options[name] = tonumber(value) or value end
  end
  math.randomseed(os.time() + number * 7919)
  local key, choose = options.key, chooser(options)
  local ring, place = {}, 0

  if options.kind == "page" then
    for count = 1, 1024 do
      ring[count] = head("GET", "/v1/leaderboard?limit=100&offset=" .. random(0, options.users - 101), key)
    end
    request = function()
      place = place % #ring + 1
      return ring[place]
    end
    return
  end

  if options.kind == "user" then
    local one = prepared(head("GET", "/v1/users/user_<user>", key))
    request = function()
      one.parts[one.users[1]] = userDigits(choose())
      return concat(one.parts)
    end
    return
  end

  local single = options.events == 1
  for count = 1, single and 512 or 8 do
    local events = {}
    for each = 1, options.events do events[each] = event(options.run) end
    local text = single and post("/v1/events", key, events[1])
      or post("/v1/events/batch", key, '{"events":[' .. table.concat(events, ",") .. "]}", options.minimal == "true" and "Prefer: return=minimal\r\n")
    ring[count] = prepared(text)
  end
  -- The thread's number stands above 40 bits of serial numbers.
  local serial = number * 1099511627776
  request = function()
    place = place % #ring + 1
    local one = ring[place]
    local parts, ids, users = one.parts, one.ids, one.users
    for each = 1, #ids do
      serial = serial + 1
      parts[ids[each]] = format("%012x", serial)
    end
    for each = 1, #users do parts[users[each]] = userDigits(choose()) end
    return concat(parts)
  end
end

function done(summary, latency)
  -- Of the process so far; what follows takes longer than the load of a second.
  local loadUs = os.clock() * 1e6 / math.max(1, summary.requests)
  local buckets = {}
  for place = 1, #latency do
    local value, count = latency(place)
    local bucket = floor(math.log(value + 1) / math.log(1.1))
    buckets[bucket] = (buckets[bucket] or 0) + count
  end
  local order = {}
  for bucket in pairs(buckets) do order[#order + 1] = bucket end
  table.sort(order)
  for index, bucket in ipairs(order) do
    order[index] = string.format("[%d,%d]", floor(pow(1.1, bucket + 1)), buckets[bucket])
  end
  local errors = summary.errors
  io.write(string.format(
    '\nREPORT {"requests":%d,"durationUs":%d,"refused":%d,"broken":%d,"timeouts":%d,"bytes":%d,'
      .. '"p50Us":%d,"p99Us":%d,"p999Us":%d,"maxUs":%d,"loadUs":%.2f,"histogram":[%s]}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write,
    errors.timeout, summary.bytes, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    latency.max, loadUs, table.concat(order, ",")
  ))
end
