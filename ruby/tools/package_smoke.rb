# frozen_string_literal: true

# A program that has nothing but the installed gem: POSTs to a server of its own and counts what arrived.

require "socket"
require "onewrite"

abort "loaded from #{$LOADED_FEATURES.grep(/onewrite\.rb/)}" unless Gem.loaded_specs["onewrite"]

server = TCPServer.new("127.0.0.1", 0)
counts = Queue.new
Thread.report_on_exception = false # the connection ends with the program
Thread.new do
  socket = server.accept
  seen = 0
  loop do
    request = +""
    request << socket.readpartial(4096) until request.end_with?("hello")
    if Socket.const_defined?(:TCP_INFO)
      now = socket.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data.unpack1("@152L")
      counts << (now - seen)
      seen = now
    else
      counts << 1
    end
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
  end
end

timings = []
Onewrite.on_timing { |timing| timings << timing }
Net::HTTP.start("127.0.0.1", server.addr[1]) do |http|
  20.times { http.post("/", "hello", "Content-Type" => "text/plain") }
end
segments = Array.new(20) { counts.pop }.tally.max_by(&:last).first
abort "a POST took #{segments} segments" unless segments == 1
abort "#{timings.size} records, not 20" unless timings.size == 20
puts "ruby: onewrite #{Onewrite::VERSION} from the built gem: one segment per POST; #{timings.last}"
