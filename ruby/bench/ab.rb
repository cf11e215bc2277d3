# frozen_string_literal: true

# Stock Net::HTTP against onewrite and its peers. Prints Markdown.
# usage: ruby bench/ab.rb [PAIRS] [BLOCKS]
#
# Two processes, the measured client and stock, take turns with blocks of requests on one keep-alive connection each, so
# that load on the machine hits both. A ratio compares two neighbouring blocks; a pair of processes gives the median of its
# blocks. Memory layout alone makes processes differ by more than what is measured, so there are several pairs; the table
# shows the median pair with the minimum and the maximum.
#
# Where the scheduler moves client and server between processors, the same exchange takes twice or half the time. With two
# processors and `taskset`, clients are pinned to one and servers to the other, or ("on one processor") all to the same,
# where a second write also costs the server's time.

require "etc"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "origin"

$stdout.sync = true
PAIRS = (ARGV[0] || 7).to_i
BLOCKS = (ARGV[1] || 40).to_i

# A client process.
class Worker
  def initialize(name, port, stdlib, place)
    path = stdlib ? ["-I", File.expand_path("../.stdlib/#{stdlib}", __dir__)] : []
    @in, @out, @thread = Open3.popen2(*place, RbConfig.ruby, "-W0", *path, File.join(__dir__, "worker.rb"), name, port.to_s)
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
  def self.start(origin, place)
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
    pid = spawn(*place, "haproxy", "-f", file, "-db", out: File::NULL, err: File::NULL)
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

# An origin and a HAProxy before it, on one processor.
class Servers
  attr_reader :direct, :proxied

  def initialize(place)
    @direct, origin = Origin.start(before: place)
    @proxied, proxy = Buffering.start(@direct, place)
    @pids = [origin, proxy]
  end

  def stop
    @pids.each { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
  end
end

# One row of the table. `client` is the command that pins the clients to a processor.
Row = Struct.new(:title, :name, :base, :port, :kind, :bytes, :times, :stdlib, :pairs, :client, keyword_init: true) do
  # One pair of processes taking turns.
  # @return [Array<Array(Array(Float, Float))>, nil] per block: latency and CPU of the base and of the other
  def pair
    workers = [base, name].map { |one| Worker.new(one, port, stdlib, client) }
    2.times { workers.each { |worker| worker.block(kind, bytes, [times, 20].min) } }
    blocks = Array.new(BLOCKS) { workers.map { |worker| worker.block(kind, bytes, times) } }
    blocks unless blocks.flatten(1).any?(&:nil?)
  ensure
    workers.each(&:stop)
  end

  # @yieldparam blocks as of {pair}
  # @return [Array] the results of the block
  def pairs_of(&block)
    Array.new(pairs) { pair }.compact.map(&block)
  end
end

def spread(values, format)
  shown = [median(values), values.min, values.max].map { |value| format(format, value) }
  "#{shown[0]} (#{shown[1]}–#{shown[2]})"
end

# @return [Array<Float>] p50 of the base, p50 of the other, ratio of latency, ratio of CPU
def summary(blocks)
  [median(blocks.map { |base, _| base[0] }), median(blocks.map { |_, own| own[0] }),
   median(blocks.map { |base, own| own[0] / base[0] }), median(blocks.map { |base, own| own[1] / base[1] })]
end

def compare(row)
  found = row.pairs_of { |blocks| summary(blocks) }
  return puts "| #{row.title} | #{row.bytes} | – | – | – | – |" if found.empty?

  base, own, latency, cpu = found.transpose
  puts "| #{row.title} | #{row.bytes} | #{median(base).round} | #{median(own).round} | #{spread(latency, "%.2f")} | " \
       "#{spread(cpu, "%.2f")} |"
end

# Prints what a hook adds to onewrite without hooks, in microseconds of CPU.
def cost_of_timing(row)
  found = row.pairs_of { |blocks| median(blocks.map { |base, own| own[1] - base[1] }) }
  puts "| #{row.title} | #{row.bytes} | #{spread(found, "%.1f")} |"
end

PINNED = Etc.nprocessors > 1 && system("taskset", "--version", out: File::NULL, err: File::NULL)
FIRST = PINNED ? %w[taskset -c 0] : []
SECOND = PINNED ? %w[taskset -c 1] : []

apart = Servers.new(SECOND)
together = Servers.new(FIRST)
begin
  load = File.exist?("/proc/loadavg") ? ", load average #{File.read("/proc/loadavg").split.first} at the start" : ""
  placed = PINNED ? "clients on one, servers on the other where nothing else is said" : "shared by all"
  head = "| body, bytes | stock p50 µs | its p50 µs | latency | client CPU |\n|---|---|---|---|---|---|"
  row = lambda do |title, name, port, size, count, **more|
    Row.new(title: title, name: name, base: "stock", port: port, kind: "string", bytes: size, times: count, pairs: PAIRS,
            client: FIRST, **more)
  end
  puts "# Ruby: onewrite and its peers against stock Net::HTTP", ""
  puts "`make bench` on #{RUBY_ENGINE} #{RUBY_VERSION}, #{Etc.nprocessors} processors, #{placed}#{load}; #{PAIRS} pairs of " \
       "processes, #{BLOCKS} blocks each. p50 of one keep-alive connection; ratios to stock, the median pair " \
       "(least–greatest).", ""
  puts "| onewrite #{head}"
  compare row.call("direct", "onewrite", apart.direct, 200, 40)
  compare row.call("direct, on one processor", "onewrite", together.direct, 200, 40)
  compare row.call("behind HAProxy, http-buffer-request", "onewrite", apart.proxied, 200, 40)
  compare row.call("the same, on one processor", "onewrite", together.proxied, 200, 40)
  [[16_000, 40], [100_000, 20], [1_000_000, 8]].each do |size, count|
    compare row.call("direct", "onewrite", apart.direct, size, count)
    compare row.call("direct, on one processor", "onewrite", together.direct, size, count)
  end
  if File.exist?(File.expand_path("../.stdlib/2.0/net/http.rb", __dir__))
    compare row.call("net/http of Ruby 2.0, http-buffer-request", "onewrite", apart.proxied, 200, 2, stdlib: "2.0", pairs: 1)
  end
  puts "", "| timing | body, bytes | client CPU on top of onewrite, µs |", "|---|---|---|"
  { "a hook that gets records" => "onewrite timed",
    "seven readings of the clock and one TCP_INFO alone" => "onewrite asked" }.each do |title, name|
    cost_of_timing row.call("#{title}, direct", name, apart.direct, 200, 40, base: "onewrite")
    cost_of_timing row.call("#{title}, direct, on one processor", name, together.direct, 200, 40, base: "onewrite")
  end
  puts "", "| peer, direct #{head}"
  %w[excon http.rb httpclient typhoeus].each { |name| compare row.call(name, name, apart.direct, 200, 20, pairs: 3) }
  puts "", "| streamed upload in four pieces, direct #{head}"
  compare row.call("onewrite", "onewrite", apart.direct, 200, 20, kind: "stream", pairs: 3)
  %w[excon http.rb httpclient].each do |name|
    compare row.call(name, name, apart.direct, 200, 2, kind: "stream", pairs: 1)
  end
  puts "| typhoeus (offers none) | 200 | – | – | – | – |"
ensure
  [apart, together].each(&:stop)
end
