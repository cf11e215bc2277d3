# frozen_string_literal: true

require "webrick"

server = WEBrick::HTTPServer.new(
  BindAddress: "127.0.0.1", Port: Integer(ARGV[0]), AccessLog: [], Logger: WEBrick::Log.new(File::NULL)
)
server.mount_proc("/") { |_request, response| response.body = "x" * 200 }
trap("TERM") { server.shutdown }
server.start
