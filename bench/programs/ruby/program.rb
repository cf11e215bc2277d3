# frozen_string_literal: true

# Ruby clients as people use them, for the scenario stock-libraries. usage: program.rb NAME [--cured]
# Prints one JSON line: name, version, runtime. Then, for each line `URL COUNT` on standard input, it makes so many POSTs
# and prints one JSON line: what each took in microseconds. `--cured` requires onewrite's file for the library.

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

PROGRAMS = {
  "http.rb" => ["http", "onewrite/http_rb", -> { HTTP::VERSION }, lambda do |url|
    client = HTTP.persistent("#{url.scheme}://#{url.host}:#{url.port}").headers("Transfer-Encoding" => "chunked")
    -> { client.post(url.path, body: Pieces.new("x" * 100, "x" * 100)).flush }
  end],
  "excon" => ["excon", "onewrite/excon", -> { Excon::VERSION }, lambda do |url|
    client = Excon.new(url.to_s, persistent: true)
    lambda do
      pieces = ["x" * 100, "x" * 100, ""]
      client.post(request_block: -> { pieces.shift })
    end
  end],
  "httpclient" => ["httpclient", "onewrite/httpclient", -> { HTTPClient::VERSION }, lambda do |url|
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
library, cure, version, make = PROGRAMS.fetch(name)
require flag == "--cured" ? cure : library
puts JSON.generate(name: name, version: version.call, runtime: "Ruby #{RUBY_VERSION}")
posts = Hash.new { |made, url| made[url] = make.call(URI(url)) }
$stdin.each_line do |line|
  url, count = line.split
  post = posts[url]
  puts JSON.generate(Array.new(count.to_i) { started = now_us; post.call; now_us - started })
end
