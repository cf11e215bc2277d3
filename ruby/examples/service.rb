# frozen_string_literal: true

# A small web service that forwards each POST through a proxy and logs where the time of each call went.
#
#   make -C ../bench stand                             # HAProxy before an origin; prints URL=
#   UPSTREAM=$URL ruby -I lib examples/service.rb      # PORT=8000 unless set; 0 takes a free one
#   curl --data '{"item": "tea"}' http://127.0.0.1:8000/orders

require "json"
require "onewrite"
require "webrick"

$stdout.sync = true
UPSTREAM = URI(ENV.fetch("UPSTREAM"))
Onewrite.on_timing { |record| puts JSON.generate(record.to_h) }

# One kept connection per thread. Net::HTTP reconnects when the proxy has closed it.
def upstream
  Thread.current[:upstream] ||= Net::HTTP.start(UPSTREAM.host, UPSTREAM.port, use_ssl: UPSTREAM.scheme == "https")
end

server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1",
  Port: Integer(ENV.fetch("PORT", "8000")),
  AccessLog: [],
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN),
  # WEBrick writes a response in two writes; without TCP_NODELAY its callers would stall.
  AcceptCallback: ->(socket) { socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
)

server.mount_proc("/orders") do |request, response|
  stored = upstream.post(UPSTREAM.request_uri, request.body.to_s, "Content-Type" => "application/json")
  response.status = stored.code
  response.body = stored.body
rescue SystemCallError, IOError, Timeout::Error => e
  Thread.current[:upstream] = nil
  response.status = 502
  response.body = JSON.generate(error: e.class.name)
ensure
  response["Content-Type"] = "application/json"
end

trap("TERM") { server.shutdown }
trap("INT") { server.shutdown }
puts "listening on http://127.0.0.1:#{server.config[:Port]}/orders"
server.start
