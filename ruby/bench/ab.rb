# frozen_string_literal: true

# Stock Net::HTTP against onewrite, interleaved, and peers beside them. Prints Markdown.
# usage: ruby bench/ab.rb [BLOCKS]
#
# A block is some hundred requests of one client; blocks of the clients alternate, so that a busy machine is busy for
# all of them. Ratios are the medians of the ratios of neighbouring blocks.

require "open3"
require "rbconfig"
require "tmpdir"
require_relative "origin"

BLOCKS = (ARGV[0] || 15).to_i

# A client process.
class Worker
  attr_reader :name

  def initialize(name, port, stdlib: nil)
    @name = name
    path = stdlib ? ["-I", File.expand_path("../.stdlib/#{stdlib}", __dir__)] : []
    @in, @out, @thread = Open3.popen2(RbConfig.ruby, "-W0", *path, File.join(__dir__, "worker.rb"), name, port.to_s)
  end

  # @return [Array(Float, Float), nil] latency and CPU per request, microseconds
  def block(kind, size, count)
    @in.puts "#{kind} #{size} #{count}"
    words = @out.gets.to_s.split
    words.first == "failed" || words.empty? ? nil : words.map(&:to_f)
  end

  def stop
    @in.close
    @thread.value
  end
end

# HAProxy with `option http-buffer-request` before the origin.
module Buffering
  def self.start(origin)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    file = File.join(Dir.mktmpdir, "haproxy.cfg")
    File.write(file, <<~CONFIG)
      defaults
        mode http
        timeout connect 5s
        timeout client 60s
        timeout server 60s
        option http-buffer-request
      frontend in
        bind 127.0.0.1:#{port}
        default_backend out
      backend out
        server origin 127.0.0.1:#{origin}
    CONFIG
    pid = spawn("haproxy", "-f", file, "-db", out: File::NULL, err: File::NULL)
    sleep 0.5
    [port, pid]
  end
end

def median(values)
  values.sort[values.size / 2]
end

def interleaved(workers, kind, size, count)
  workers.each { |worker| worker.block(kind, size, [count / 4, 5].max) }
  runs = Array.new(BLOCKS) do |number|
    order = number.odd? ? workers.reverse : workers
    order.map { |worker| [worker.name, worker.block(kind, size, count)] }.to_h
  end
  runs.reject { |run| run.values.any?(&:nil?) }
end

def compare(title, port, kind, size, count, stdlib: nil)
  workers = %w[stock onewrite].map { |name| Worker.new(name, port, stdlib: stdlib) }
  runs = interleaved(workers, kind, size, count)
  ratio = ->(index) { median(runs.map { |run| run["onewrite"][index] / run["stock"][index] }) }
  values = %w[stock onewrite].map { |name| median(runs.map { |run| run[name][0] }) }
  puts "| #{[title, size, *values.map(&:round), ratio.call(0).round(3), ratio.call(1).round(3)].join(" | ")} |"
ensure
  workers.each(&:stop)
end

def peer(name, port)
  worker = Worker.new(name, port)
  cells = %w[string stream].map do |kind|
    worker.block(kind, 200, 20)
    values = Array.new(3) { worker.block(kind, 200, 40) }.compact
    values.empty? ? "–" : format("%.0f", median(values.map(&:first)))
  end
  puts "| #{name} | #{cells.join(" | ")} |"
ensure
  worker.stop
end

origin, origin_pid = Origin.start
proxy, proxy_pid = Buffering.start(origin)
begin
  puts "#{RUBY_ENGINE} #{RUBY_VERSION}, load average #{File.read("/proc/loadavg").split.first}, #{BLOCKS} blocks" if
    File.exist?("/proc/loadavg")
  puts "", "| one keep-alive connection | body, bytes | stock p50 µs | onewrite p50 µs | latency ratio | client CPU ratio |"
  puts "|---|---|---|---|---|---|"
  compare("direct", origin, "string", 200, 200)
  compare("behind HAProxy, http-buffer-request", proxy, "string", 200, 200)
  compare("direct", origin, "string", 16_000, 200)
  compare("direct", origin, "string", 100_000, 100)
  compare("direct", origin, "string", 1_000_000, 20)
  if File.exist?(File.expand_path("../.stdlib/2.0/net/http.rb", __dir__))
    compare("net/http of Ruby 2.0, http-buffer-request", proxy, "string", 200, 10, stdlib: "2.0")
  end
  puts "", "| client, direct, 200 bytes | string p50 µs | streamed in four pieces p50 µs |", "|---|---|---|"
  ["stock", "onewrite", "onewrite timed", "excon", "http.rb", "httpclient", "typhoeus"].each { |name| peer(name, origin) }
ensure
  [origin_pid, proxy_pid].each { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
end
