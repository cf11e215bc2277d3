# frozen_string_literal: true

# Other Ruby HTTP clients behind the driver protocol (spec/conformance/PROTOCOL.md), as much as a cost table needs.
# One caller, one kept connection, closed loop. Each client is used as its documentation shows.

require 'json'
require 'socket'
require 'uri'

# A bare socket: one write with TCP_NODELAY, an answer that is read to its known end. What Ruby and the machine take.
class BareSocket
  def initialize
    @sockets = {}
  end

  def call(url, body)
    uri = URI(url)
    socket = @sockets[url] ||= TCPSocket.new(uri.host, uri.port).tap do |made|
      made.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    end
    socket.write("POST #{uri.path} HTTP/1.1\r\nHost: #{uri.host}:#{uri.port}\r\n" \
                 "Content-Type: application/octet-stream\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
    answer = socket.readpartial(65_536)
    answer << socket.readpartial(65_536) until complete?(answer)
    answer[9, 3].to_i
  end

  private

  def complete?(answer)
    head = answer.index("\r\n\r\n") or return false
    answer.bytesize >= head + 4 + answer[/^content-length: *(\d+)/i, 1].to_i
  end
end

# Takes each client's own way to make a POST on a kept connection; a block returns the status.
module Competitors
  MAKERS = {
    'bare socket' => -> { BareSocket.new },
    'excon' => lambda do
      require 'excon'
      connections = Hash.new { |made, url| made[url] = Excon.new(url, persistent: true) }
      ->(url, body) { connections[url].post(body: body).status }
    end,
    'http.rb' => lambda do
      require 'http'
      connections = Hash.new { |made, url| made[url] = HTTP.persistent(url) }
      ->(url, body) { connections[url].post(url, body: body).flush.code }
    end,
    'httpclient' => lambda do
      require 'httpclient'
      client = HTTPClient.new
      ->(url, body) { client.post(url, body).status }
    end,
    'typhoeus' => lambda do
      require 'typhoeus'
      ->(url, body) { Typhoeus.post(url, body: body).code }
    end
  }.freeze

  GEMS = { 'bare socket' => 'json', 'excon' => 'excon', 'http.rb' => 'http', 'httpclient' => 'httpclient', 'typhoeus' => 'typhoeus' }.freeze

  def self.available
    GEMS.select { |_, name| Gem::Specification.find_all_by_name(name).any? }
  end

  def self.versions
    available.reject { |api, _| api == 'bare socket' }.map { |api, name| "#{api} #{Gem::Specification.find_by_name(name).version}" }.join(', ')
  end

  def self.now_us
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_microsecond)
  end

  def self.load(post, command)
    body = 'x' * (command.dig('body', 'size') || 0)
    deadline = now_us + ((command['seconds'] || 1e6) * 1e6)
    latencies = []
    errors = 0
    sample = nil
    while (command['count'].nil? || latencies.size + errors < command['count']) && now_us < deadline
      began = now_us
      begin
        status = post.call(command['url'], body)
        raise "status #{status}" if status >= 400

        latencies << (now_us - began).round
      rescue StandardError => e
        errors += 1
        sample ||= "#{e.class}: #{e.message}"
      end
    end
    { latencies_us: latencies, service_us: latencies, errors: errors, error_sample: sample }
  end

  def self.hello(command)
    { protocol: 1, client: command['client'], adapter: 'competitors', version: nil,
      base: { name: 'competitors', version: versions }, runtime: "ruby #{RUBY_VERSION}", pid: Process.pid,
      apis: available.keys, capabilities: %w[load shared_clock] }
  end

  def self.reply(command, clients)
    case command['cmd']
    when 'hello' then hello(command)
    when 'open'
      clients << MAKERS.fetch(command['options']['api'] || available.keys.first).call
      { client_id: clients.size }
    when 'load' then load(clients[command['client_id'] - 1], command)
    when 'close', 'bye' then { ok: true }
    else { skipped: "the competitors' driver has no #{command['cmd']}" }
    end
  end
end

$stdout.sync = true
clients = []
$stdin.each_line do |line|
  command = JSON.parse(line)
  puts JSON.generate({ seq: command['seq'] }.merge(Competitors.reply(command, clients)))
  break if command['cmd'] == 'bye'
end
