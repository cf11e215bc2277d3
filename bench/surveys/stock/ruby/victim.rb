# frozen_string_literal: true

# Ruby clients as people use them. usage: victim.rb NAME URL COUNT [--cured]
# Prints one JSON line: the version, and what each POST took in ms, warm-up left out.
# `--cured` uses the library's own switch for TCP_NODELAY, which is off as it comes.

require "json"
require "socket"
require "stringio"

WARM_UP = 16

# An IO of unknown size: what a library is given when a body is streamed.
class Pieces
  include Enumerable

  def initialize(*pieces)
    @pieces = pieces
  end

  def each(&block)
    @pieces.each(&block)
  end
end

def http_rb(url, cured)
  require "http"
  client = HTTP.persistent(url.origin)
  client = client.nodelay if cured
  client = client.headers("Transfer-Encoding" => "chunked")
  [HTTP::VERSION, -> { client.post(url.path, body: Pieces.new("x" * 100, "x" * 100)).flush }]
end

def excon(url, cured)
  require "excon"
  client = Excon.new(url.to_s, persistent: true, tcp_nodelay: cured)
  post = lambda do
    pieces = ["x" * 100, "x" * 100, ""]
    client.post(request_block: -> { pieces.shift })
  end
  [Excon::VERSION, post]
end

def httpclient(url, cured)
  require "httpclient"
  client = HTTPClient.new
  if cured
    # There is no option for it; the socket is reachable by its one hook.
    HTTPClient::Session.prepend(Module.new do
      def create_socket(*)
        super.tap { |socket| socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
      end
    end)
  end
  [HTTPClient::VERSION, -> { client.post(url.to_s, body: StringIO.new("x" * 200)) }]
end

def net_http(url, cured)
  require "net/http"
  require "onewrite" if cured
  client = Net::HTTP.start(url.host, url.port)
  [RUBY_VERSION, -> { client.post("/", "x" * 200, "Content-Type" => "text/plain") }]
end

name, address, count, flag = ARGV
require "uri"
url = URI(address)
url.define_singleton_method(:origin) { "#{scheme}://#{host}:#{port}" }
version, post = send(name, url, flag == "--cured")
times = Array.new(WARM_UP + count.to_i) do
  started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  post.call
  (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started) * 1000
end
puts JSON.generate(version: version, times_ms: times.drop(WARM_UP))
