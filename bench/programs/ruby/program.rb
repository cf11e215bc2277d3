# frozen_string_literal: true

# Ruby clients as people use them, for the scenario stock-libraries. usage: program.rb NAME [--cured]
# Prints one JSON line: name, version, runtime. Then, for each line `URL COUNT` on standard input, it makes so many POSTs
# and prints one JSON line: what each took in microseconds. `--cured` does what docs/cures.md says: onewrite is for Net::HTTP alone.

require "json"
require "stringio"
require "uri"

# An enumerable of unknown size: what a library is given when a body is streamed.
class Pieces
  include Enumerable

  def initialize(*pieces)
    @pieces = pieces
  end

  def each(&block)
    @pieces.each(&block)
  end
end

# TCP_NODELAY for HTTPClient, which has no option for it.
module Nodelay
  def create_socket(*)
    super.tap { |socket| socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
  end
end

PROGRAMS = {
  "http.rb" => ["http", -> { HTTP::VERSION }, lambda do |url, cured|
    client = HTTP.persistent("#{url.scheme}://#{url.host}:#{url.port}").headers("Transfer-Encoding" => "chunked")
    client = client.nodelay if cured
    -> { client.post(url.path, body: Pieces.new("x" * 100, "x" * 100)).flush }
  end],
  "excon" => ["excon", -> { Excon::VERSION }, lambda do |url, cured|
    client = Excon.new(url.to_s, persistent: true, tcp_nodelay: cured)
    lambda do
      pieces = ["x" * 100, "x" * 100, ""]
      client.post(request_block: -> { pieces.shift })
    end
  end],
  "httpclient" => ["httpclient", -> { HTTPClient::VERSION }, lambda do |url, cured|
    HTTPClient::Session.prepend(Nodelay) if cured
    client = HTTPClient.new
    -> { client.post(url.to_s, body: StringIO.new("x" * 200)) }
  end]
}.freeze

def now_us
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond)
end

$stdout.sync = true
name, flag = ARGV
ARGV.clear
library, version, make = PROGRAMS.fetch(name)
require library
puts JSON.generate(name: name, version: version.call, runtime: "Ruby #{RUBY_VERSION}")
posts = Hash.new { |made, url| made[url] = make.call(URI(url), flag == "--cured") }
$stdin.each_line do |line|
  url, count = line.split
  post = posts[url]
  puts JSON.generate(Array.new(count.to_i) { started = now_us; post.call; now_us - started })
end
