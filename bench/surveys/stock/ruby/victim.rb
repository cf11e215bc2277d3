# frozen_string_literal: true

# Ruby clients as people use them, with onewrite for `--cured`. usage: victim.rb NAME URL COUNT [--cured]
# Prints one JSON line: the version, and what each POST took in ms, warm-up left out. Runs on Ruby 1.9, too.

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
  require cured ? "onewrite/http_rb" : "http"
  client = HTTP.persistent(url.origin)
  client = client.headers("Transfer-Encoding" => "chunked")
  [HTTP::VERSION, -> { client.post(url.path, body: Pieces.new("x" * 100, "x" * 100)).flush }]
end

def excon(url, cured)
  require cured ? "onewrite/excon" : "excon"
  client = Excon.new(url.to_s, persistent: true)
  post = lambda do
    pieces = ["x" * 100, "x" * 100, ""]
    client.post(request_block: -> { pieces.shift })
  end
  [Excon::VERSION, post]
end

def httpclient(url, cured)
  require cured ? "onewrite/httpclient" : "httpclient"
  client = HTTPClient.new
  [HTTPClient::VERSION, -> { client.post(url.to_s, body: StringIO.new("x" * 200)) }]
end

def net_http(url, cured)
  require cured ? "onewrite" : "net/http"
  client = Net::HTTP.start(url.host, url.port)
  [RUBY_VERSION, -> { client.post("/", "x" * 200, "Content-Type" => "text/plain") }]
end

def now_ms
  defined?(Process::CLOCK_MONOTONIC) ? Process.clock_gettime(Process::CLOCK_MONOTONIC) * 1000 : Time.now.to_f * 1000
end

name, address, count, flag = ARGV
require "uri"
url = URI(address)
url.define_singleton_method(:origin) { "#{scheme}://#{host}:#{port}" }
version, post = send(name, url, flag == "--cured")
times = Array.new(WARM_UP + count.to_i) do
  started = now_ms
  post.call
  now_ms - started
end
puts JSON.generate(version: version, times_ms: times.drop(WARM_UP))
