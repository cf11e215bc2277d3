# frozen_string_literal: true

# One client in a process of its own. Reads lines "BODY SIZE COUNT", answers "MEDIAN-MICROSECONDS CPU-MICROSECONDS" per
# request. usage: worker.rb CLIENT PORT

client, port = ARGV
port = port.to_i
url = "http://127.0.0.1:#{port}/"

# A source of four pieces and unknown size.
class Pieces
  def initialize(size)
    @pieces = Array.new(4) { "x" * (size / 4) }
  end

  def read(_length = nil, buffer = String.new)
    piece = @pieces.shift
    piece && buffer.replace(piece)
  end

  def call
    @pieces.shift || ""
  end

  def each
    yield @pieces.shift until @pieces.empty?
  end
end

TYPE = { "Content-Type" => "application/octet-stream" }.freeze

def net_http(port)
  http = Net::HTTP.new("127.0.0.1", port, nil)
  http.keep_alive_timeout = 60
  http.start
  yield http if block_given?
  lambda do |kind, body|
    request = Net::HTTP::Post.new("/", TYPE)
    if kind == "stream"
      request.body_stream = Pieces.new(body.bytesize)
      request["Transfer-Encoding"] = "chunked"
    else
      request.body = body
    end
    http.request(request)
  end
end

# The minimum that timing costs: seven readings of the clock and one of TCP_INFO, with the results dropped.
def asked(port)
  http = nil
  send = net_http(port) { |one| http = one }
  io = http.instance_variable_get(:@socket).io
  lambda do |kind, body|
    send.call(kind, body)
    7.times { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) }
    io.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data
  end
end

send =
  case client
  when "stock", "onewrite", "onewrite timed", "onewrite asked"
    require "net/http"
    require_relative "../lib/onewrite/version"
    $LOAD_PATH.unshift File.expand_path("../lib", __dir__)
    require "onewrite" unless client == "stock"
    Onewrite.on_timing { |timing| timing } if client == "onewrite timed"
    client == "onewrite asked" ? asked(port) : net_http(port)
  when "excon"
    require "excon"
    excon = Excon.new(url, persistent: true)
    lambda do |kind, body|
      if kind == "stream"
        excon.post(request_block: Pieces.new(body.bytesize),
                   headers: TYPE)
      else
        excon.post(body: body, headers: TYPE)
      end
    end
  when "http.rb"
    require "http"
    session = HTTP.persistent(url)
    lambda do |kind, body|
      given = kind == "stream" ? Pieces.new(body.bytesize).to_enum(:each) : body
      headers = kind == "stream" ? TYPE.merge("Transfer-Encoding" => "chunked") : TYPE
      session.post("/", body: given, headers: headers).flush
    end
  when "httpclient"
    require "httpclient"
    require "stringio"
    httpclient = HTTPClient.new
    # It streams only sources with `rewind` and `size`; of any other it sends just the first piece.
    ->(kind, body) { httpclient.post(url, kind == "stream" ? StringIO.new(body) : body, TYPE) }
  when "typhoeus"
    require "typhoeus"
    lambda do |kind, body|
      raise "not offered" if kind == "stream"

      answer = Typhoeus.post(url, body: body, headers: TYPE)
      raise answer.return_code.to_s unless answer.code == 200
    end
  end

def now(clock)
  Process.clock_gettime(clock)
end

$stdin.each_line do |line|
  kind, size, count = line.split
  body = "x" * size.to_i
  count = count.to_i
  cpu = now(Process::CLOCK_PROCESS_CPUTIME_ID)
  times = Array.new(count) do
    started = now(Process::CLOCK_MONOTONIC)
    send.call(kind, body)
    now(Process::CLOCK_MONOTONIC) - started
  end
  cpu = now(Process::CLOCK_PROCESS_CPUTIME_ID) - cpu
  puts "#{(times.sort[count / 2] * 1e6).round(1)} #{(cpu / count * 1e6).round(1)}"
rescue StandardError => e
  puts "failed #{e.class}: #{e.message.lines.first.to_s.strip}"
ensure
  $stdout.flush
end
