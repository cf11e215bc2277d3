-- 20 POSTs by LuaSocket. usage: client.lua plain|nodelay URL
local http, ltn12, socket = require("socket.http"), require("ltn12"), require("socket")
local way, url = arg[1], arg[2]

local function nodelay()
  local made = socket.tcp4()
  made:setoption("tcp-nodelay", true)
  return made
end

for _ = 1, 20 do
  assert(http.request {
    url = url, method = "POST", headers = { ["content-length"] = 200 },
    source = ltn12.source.string(("x"):rep(200)), sink = ltn12.sink.null(),
    create = way == "nodelay" and nodelay or nil
  })
end
