# frozen_string_literal: true

# Stock Net::HTTP against onewrite and its peers. Prints Markdown.
# usage: ruby bench/ab.rb [PAIRS] [BLOCKS]
#
# Two processes, the client in question and stock, take turns on one keep-alive connection each: a block of some dozen
# requests here, a block there, so that a busy machine is busy for both. A ratio is that of two neighbouring blocks; a
# pair of processes gives the median of its blocks. Processes differ among themselves by more than what is measured
# (where their memory lies), so there are several pairs, and the table shows the median pair with the least and the
# greatest.
#
# Where there are two processors and a `taskset`, the clients run on one and the servers on the other. Left to itself, a
# scheduler moves client and server together and apart again, and the same exchange takes twice as long or half.

require "etc"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "origin"

$stdout.sync = true
PAIRS = (ARGV[0] || 9).to_i
BLOCKS = (ARGV[1] || 25).to_i

# One processor for the clients, another for the servers.
module Places
  POSSIBLE = Etc.nprocessors > 1 && system("taskset", "--version", out: File::NULL, err: File::NULL)

  # @return [Array<String>] what to put before a command
  def self.client
    POSSIBLE ? %w[taskset -c 0] : []
  end

  def self.server
    POSSIBLE ? %w[taskset -c 1] : []
  end

  def self.said
    POSSIBLE ? "clients on one, servers on the other" : "shared by clients and servers"
  end
end

# A client process.
class Worker
  def initialize(name, port, stdlib: nil)
    path = stdlib ? ["-I", File.expand_path("../.stdlib/#{stdlib}", __dir__)] : []
    @in, @out, @thread = Open3.popen2(*Places.client, RbConfig.ruby, "-W0", *path, File.join(__dir__, "worker.rb"), name,
                                      port.to_s)
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
    folder = Dir.mktmpdir
    at_exit { FileUtils.rm_rf(folder) }
    file = File.join(folder, "haproxy.cfg")
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
    pid = spawn(*Places.server, "haproxy", "-f", file, "-db", out: File::NULL, err: File::NULL)
    wait_for(port)
    [port, pid]
  end

  def self.wait_for(port, patience = 400)
    TCPSocket.new("127.0.0.1", port).close
  rescue Errno::ECONNREFUSED
    raise if (patience -= 1).zero?

    sleep 0.05
    retry
  end
end

def median(values)
  values.sort[values.size / 2]
end

# One pair of processes taking turns. @return [Array<Float>, nil] stock µs, its µs, latency ratio, CPU ratio
def pair(name, port, kind, size, count, stdlib)
  workers = ["stock", name].map { |one| Worker.new(one, port, stdlib: stdlib) }
  2.times { workers.each { |worker| worker.block(kind, size, [count, 20].min) } }
  blocks = Array.new(BLOCKS) { workers.map { |worker| worker.block(kind, size, count) } }
  return nil if blocks.flatten(1).any?(&:nil?)

  [median(blocks.map { |stock, _| stock[0] }), median(blocks.map { |_, own| own[0] }),
   median(blocks.map { |stock, own| own[0] / stock[0] }), median(blocks.map { |stock, own| own[1] / stock[1] })]
ensure
  workers.each(&:stop)
end

def ratio(values)
  format("%<middle>.2f (%<least>.2f–%<most>.2f)", middle: median(values), least: values.min, most: values.max)
end

def compare(title, name, port, kind, size, count, stdlib: nil, pairs: PAIRS)
  found = Array.new(pairs) { pair(name, port, kind, size, count, stdlib) }.compact
  return puts "| #{title} | #{size} | – | – | – | – |" if found.empty?

  stock, own, latency, cpu = found.transpose
  puts "| #{title} | #{size} | #{median(stock).round} | #{median(own).round} | #{ratio(latency)} | #{ratio(cpu)} |"
end

origin, origin_pid = Origin.start(before: Places.server)
proxy, proxy_pid = Buffering.start(origin)
begin
  load = File.exist?("/proc/loadavg") ? ", load average #{File.read("/proc/loadavg").split.first} at the start" : ""
  puts "# Ruby: onewrite and its peers against stock Net::HTTP", ""
  puts "`make bench` on #{RUBY_ENGINE} #{RUBY_VERSION}, #{Etc.nprocessors} processors, #{Places.said}#{load}; #{PAIRS} " \
       "pairs of processes, #{BLOCKS} blocks each. p50 of one keep-alive connection; ratios to stock, the median pair " \
       "(least–greatest).", ""
  puts "| onewrite | body, bytes | stock p50 µs | onewrite p50 µs | latency | client CPU |", "|---|---|---|---|---|---|"
  compare("direct", "onewrite", origin, "string", 200, 40)
  compare("behind HAProxy, http-buffer-request", "onewrite", proxy, "string", 200, 40)
  compare("direct", "onewrite", origin, "string", 16_000, 40)
  compare("direct", "onewrite", origin, "string", 100_000, 20)
  compare("direct", "onewrite", origin, "string", 1_000_000, 8)
  compare("direct, timed", "onewrite timed", origin, "string", 200, 40)
  if File.exist?(File.expand_path("../.stdlib/2.0/net/http.rb", __dir__))
    compare("net/http of Ruby 2.0, http-buffer-request", "onewrite", proxy, "string", 200, 2, stdlib: "2.0", pairs: 1)
  end
  puts "", "| peer, direct | body, bytes | stock p50 µs | its p50 µs | latency | client CPU |", "|---|---|---|---|---|---|"
  %w[excon http.rb httpclient typhoeus].each { |name| compare(name, name, origin, "string", 200, 20, pairs: 3) }
  puts "", "| streamed upload in four pieces, direct | body, bytes | stock p50 µs | its p50 µs | latency | client CPU |",
       "|---|---|---|---|---|---|"
  compare("onewrite", "onewrite", origin, "stream", 200, 20, pairs: 3)
  %w[excon http.rb httpclient].each { |name| compare(name, name, origin, "stream", 200, 2, pairs: 1) }
  puts "| typhoeus (offers none) | 200 | – | – | – | – |"
ensure
  [origin_pid, proxy_pid].each { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
end
