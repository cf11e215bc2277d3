# frozen_string_literal: true

# Walks a POST on a kept connection, hooks off, through the Ruby adapter: see walk.py. usage: ruby docs/tools/walk/walk.rb [--show]
require "socket"
$LOAD_PATH.unshift(File.expand_path("../../../ruby/lib", __dir__))
require "onewrite"

OURS = File.expand_path("../../../ruby/lib/onewrite/", __dir__)

server = TCPServer.new("127.0.0.1", 0)
Thread.new do
  peer = server.accept
  peer.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  loop do
    head = +""
    head << peer.readline until head.end_with?("\r\n\r\n")
    peer.read(head[/content-length: (\d+)/i, 1].to_i)
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
  end
end

http = Net::HTTP.start("127.0.0.1", server.addr[1])
post = -> { http.post("/", "x" * 200) }
5.times { post.call }
steps = []
trace = TracePoint.new(:call) { |point| steps << [point.path.delete_prefix(OURS), point.method_id] if point.path.start_with?(OURS) }
trace.enable(target_thread: Thread.current) { post.call }
files = steps.map(&:first)
returns = (1...files.size).count { |at| files[at] != files[at - 1] && files[0...at].include?(files[at]) }
puts "ruby: #{steps.size} calls, #{files.uniq.size} files, #{returns} returns"
puts(steps.map { |file, name| "  #{file.delete_prefix("/")}: #{name}" }) if ARGV.include?("--show")
