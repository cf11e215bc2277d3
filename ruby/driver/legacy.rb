# frozen_string_literal: true

# The part of the driver that the demo needs, for a Ruby before 2.1: `open` without options, and `load` of POSTs on one
# connection. Written for Ruby 1.9. ONEWRITE_DRIVER_JRUBY=1.7.27 in the environment of driver/run starts it.

require "json"
require "net/http"
require "uri"

OUT = $stdout.dup
$stdout.reopen($stderr) # stdout is protocol only
KINDS = %w[stock onewrite].freeze
ROOT = File.expand_path("../../..", __FILE__) # rubocop:disable Style/ExpandPathArguments -- Ruby 1.9 has no __dir__

# @return [Integer] CLOCK_MONOTONIC in nanoseconds; these Rubies have no Process.clock_gettime
def now
  java.lang.System.nano_time
end

def hello(kind)
  return { skipped: "a Ruby before 2.1 has no client #{kind}" } unless KINDS.include?(kind)

  if kind == "onewrite"
    $LOAD_PATH.unshift File.join(ROOT, "ruby/lib")
    require "onewrite"
  end
  {
    protocol: 2, client: kind, adapter: "ruby", version: File.read(File.join(ROOT, "VERSION")).strip,
    base: { name: "net-http", version: "of Ruby #{RUBY_VERSION}" }, runtime: "JRuby #{JRUBY_VERSION}",
    pid: Process.pid, apis: ["net-http"], capabilities: %w[shared_clock load body:bytes]
  }
end

# Sessions by client and origin.
SESSIONS = Hash.new do |all, key|
  url = URI(key.last)
  all[key] = http = Net::HTTP.new(url.host, url.port)
  http.keep_alive_timeout = 60 if http.respond_to?(:keep_alive_timeout=)
  http
end

def post(http, message)
  request = Net::HTTP::Post.new(URI(message["url"]).path, "Content-Type" => "text/plain")
  request.body = "x" * message["body"]["size"]
  code = http.request(request).code
  raise "status #{code}" unless code.start_with?("2")
end

def load_of(message)
  return { skipped: "POSTs of bytes on one connection only" } unless
    message["connections"] == 1 && message["body"]["kind"] == "bytes"

  http = SESSIONS[[message["client_id"], message["url"]]]
  http.start unless http.started?
  started = now
  reply = { latencies_us: [], errors: 0 }
  until over?(message, started, reply)
    before = now
    begin
      post(http, message)
      reply[:latencies_us] << ((now - before) / 1000.0)
    rescue StandardError => e
      reply[:errors] += 1
      reply[:error_sample] ||= "#{e.class}: #{e.message}"
    end
  end
  reply
end

def over?(message, started, reply)
  return reply[:latencies_us].size + reply[:errors] >= message["count"] if message["count"]

  now - started >= message["seconds"] * 1e9
end

clients = 0
$stdin.each_line do |line|
  message = JSON.parse(line)
  reply =
    case message["cmd"]
    when "hello" then hello(message["client"])
    when "open" then { client_id: clients += 1 }
    when "load" then load_of(message)
    when "close", "bye" then { ok: true }
    else { skipped: "no #{message["cmd"]} on a Ruby before 2.1" }
    end
  OUT.puts JSON.generate(reply.merge(seq: message["seq"]))
  OUT.flush
  break if message["cmd"] == "bye"
end
