# frozen_string_literal: true

# How many answers go to another request when requests are given up at random moments, without the gem and with it (SAME-7).
# One session; each answer names its request. usage: ruby bench/given_up.rb [REQUESTS]

require "net/http"
require "open3"
require "rbconfig"
require "socket"
require "timeout"

COUNT = (ARGV[0] || 4000).to_i

# Answers each request with its path, after up to 2 ms.
def serve(server)
  random = Random.new(1)
  loop do
    socket = server.accept
    Thread.new do
      while (line = socket.gets)
        nil until socket.gets == "\r\n"
        sleep random.rand * 0.002
        path = line.split[1]
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{path.bytesize}\r\n\r\n#{path}")
      end
    rescue SystemCallError, IOError
      nil
    end
  end
end

# @return [Array<Integer>] answers that were right, answers of another request, errors, requests given up
def send_requests(port)
  random = Random.new(2)
  http = Net::HTTP.new("127.0.0.1", port, nil)
  http.read_timeout = 1
  http.start
  results = Array.new(COUNT) do |number|
    Timeout.timeout(random.rand * 0.004) { http.get("/#{number}").body == "/#{number}" }
  rescue Timeout::Error
    :given_up
  rescue StandardError
    :error
  end
  [true, false, :error, :given_up].map { |result| results.count(result) }
end

if ENV["ONEWRITE_GIVEN_UP_PORT"]
  puts send_requests(ENV["ONEWRITE_GIVEN_UP_PORT"].to_i).join(" ")
else
  server = TCPServer.new("127.0.0.1", 0)
  Thread.new { serve(server) }
  { "Net::HTTP" => [], "onewrite" => ["-I", File.expand_path("../lib", __dir__), "-r", "onewrite"] }.each do |name, options|
    env = { "ONEWRITE_GIVEN_UP_PORT" => server.addr[1].to_s }
    out, = Open3.capture2(env, RbConfig.ruby, "-W0", *options, __FILE__, COUNT.to_s)
    puts format("%<name>-10s right %<right>d, of another request %<wrong>d, errors %<errors>d, given up %<given_up>d",
                **%i[right wrong errors given_up].zip(out.split.map(&:to_i)).to_h, name: name)
  end
end
