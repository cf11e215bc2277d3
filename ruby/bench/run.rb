# frozen_string_literal: true

# The CPU that a POST costs the client, beside stock Net::HTTP. Writes bench/RESULTS.md and bench/results.json.
# usage: ruby bench/run.rb [GROUPS] [TURNS]
#
# Each variant runs in its own process, on one keep-alive connection to an origin in another process. The processes of a group
# take turns with blocks of requests, so load on the machine reaches all of them. A ratio compares two blocks of the same
# turn; a group gives the median of its turns. Memory layout alone makes processes differ, so there are several groups, with
# new processes: the table has the median group.
#
# Each process begins with a heap as large as that of a program with a framework. In a small heap the code that is loaded changes
# how often the collector runs and how well the heap fits the CPU's caches, and that would count as the cost of a request.
#
# "stock again" is a second process of stock. If it differs from stock by more than 3 %, nothing is written and the exit
# status is 2.

require "etc"
require "json"
require "net/http"
require "open3"
require "rbconfig"
require_relative "origin"

GROUPS = (ARGV[0] || 7).to_i
TURNS = (ARGV[1] || 60).to_i
REQUESTS = 50
# A plus marks changes of what is measured. Results that another bench has just written are none.
CHANGED = !`git status --porcelain --untracked-files=no lib bench/*.rb`.empty?
COMMIT = `git rev-parse --short=8 HEAD`.strip + (CHANGED ? "+" : "")
# Bytes (0: a GET), the pause of the origin before its answer (below 1 ms the kernel's counters are not read), and TLS.
CASES = [[200, 0.0, false], [0, 0.0, false], [20_000, 0.0, false], [200, 0.0, true], [200, 0.002, false]].freeze
VARIANTS = ["stock again", "onewrite", "on_timing"].freeze
MOST_NOISE = 0.03
# A busy machine has cold caches, which costs code that is called often more than code that is not.
LOAD = File.exist?("/proc/loadavg") ? File.read("/proc/loadavg").split.first : "unknown"
FOLDER = __dir__

# A client process.
class Worker
  def initialize(variant, port, tls, pinned)
    env = { "RUBY_GC_HEAP_INIT_SLOTS" => "200000" }
    command = [RbConfig.ruby, "-W0", File.join(FOLDER, "worker.rb"), variant, port.to_s, *("tls" if tls)]
    @in, @out, @thread = Open3.popen2(env, *pinned, *command)
  end

  # @return [Float] microseconds of CPU per request
  def block(size, count = REQUESTS)
    @in.puts "#{size} #{count}"
    Float(@out.gets)
  end

  # Sends blocks until two halves of the latest ten agree within 2 %.
  def warm_up(size)
    blocks = []
    100.times do
      blocks << block(size)
      first, second = blocks.last(10).each_slice(5).map { |half| median(half) }
      break if blocks.size >= 10 && ((first / second) - 1).abs <= 0.02
    end
  end

  def stop
    @in.close
    @thread.value
  end
end

def median(values)
  sorted = values.sort
  (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
end

# @return [Array(Float, Hash{String => Float})] microseconds of stock, and the ratio of each variant
def group(size, port, tls, pinned)
  workers = ["stock", *VARIANTS].map { |variant| Worker.new(variant, port, tls, pinned) }
  workers.each { |worker| worker.warm_up(size) }
  turns = Array.new(TURNS) do
    # In a fixed order each variant would always run behind the same one, whose code and data are in the CPU's caches.
    costs = workers.shuffle.to_h { |worker| [worker, worker.block(size)] }
    workers.map { |worker| costs[worker] }
  end
  ratios = VARIANTS.each_with_index.map { |variant, at| [variant, median(turns.map { |turn| turn[at + 1] / turn[0] })] }.to_h
  [median(turns.map(&:first)), ratios]
ensure
  workers.to_a.each(&:stop)
end

def rows(size, pause, tls, groups)
  stock = median(groups.map(&:first)).round(1)
  what = "#{size.zero? ? "GET" : "#{size} B"}#{", answered after #{(pause * 1000).round} ms" if pause.positive?}#{", TLS" if tls}"
  base = [{ name: "stock, #{what}", ratio: 1.0, min: 1.0, max: 1.0, n: groups.size, cpu_us: stock }]
  base + VARIANTS.map do |variant|
    ratios = groups.map { |_, all| all[variant] }
    spread = { min: ratios.min.round(3), max: ratios.max.round(3), n: ratios.size }
    { name: "#{variant}, #{what}", ratio: median(ratios).round(3), **spread }
  end
end

def request(row)
  row[:name].partition(", ").last
end

def table(rows)
  noise = rows.select { |row| row[:name].start_with?("stock again") }.to_h { |row| [request(row), (row[:ratio] - 1).abs] }
  lines = rows.map { |row| format("| %<name>s | %<ratio>.2f | ±%<noise>.2f | %<n>d |", **row, noise: noise[request(row)]) }
  costs = rows.select { |row| row[:cpu_us] }.map { |row| "#{row[:name]}: #{row[:cpu_us]} µs" }.join("; ")
  <<~MARKDOWN
    # Ruby: CPU of the client per request, as a ratio to stock Net::HTTP

    The table shows the CPU of a request on a kept connection over loopback, with a heap of 200,000 slots. *factor* is
    relative to stock (1.00 = no cost), the median of *n* groups of processes with #{TURNS} turns of #{REQUESTS} requests
    each. *noise* measures stock twice: the distance of the second from 1.00. #{costs}.

    `make -C ruby bench` on #{RUBY_ENGINE} #{RUBY_VERSION}, #{Etc.nprocessors} processors, load #{LOAD}, commit #{COMMIT}, #{Time.now.strftime("%F")}.

    There is no row beside OpenTelemetry: Debian has no opentelemetry-sdk and opentelemetry-instrumentation-net_http; it
    needs those from RubyGems.

    | request | factor | noise | n |
    |---|---:|---:|---:|
    #{lines.join("\n")}
  MARKDOWN
end

pinned = Etc.nprocessors > 1 && system("taskset", "--version", out: File::NULL, err: File::NULL) ? %w[taskset -c 0] : []
all = CASES.flat_map do |size, pause, tls|
  port, origin = Origin.start(pause, tls: tls, before: pinned.empty? ? [] : %w[taskset -c 1])
  begin
    rows(size, pause, tls, Array.new(GROUPS) { group(size, port, tls, pinned) })
  ensure
    Process.kill(:TERM, origin) && Process.wait(origin)
  end
end
puts table(all)
noise = all.select { |row| row[:name].start_with?("stock again") }.map { |row| (row[:ratio] - 1).abs }.max
if noise > MOST_NOISE
  warn format("Not written: stock differs from stock by %<noise>.1f %%. Run it on a quiet machine.", noise: noise * 100)
  exit 2
end
File.write(File.join(FOLDER, "RESULTS.md"), table(all))
File.write(File.join(FOLDER, "results.json"), "#{JSON.pretty_generate(
  language: "ruby", base: "net-http #{Net::HTTP::VERSION}", runtime: "#{RUBY_ENGINE} #{RUBY_VERSION}",
  commit: COMMIT, date: Time.now.strftime("%F"), command: "make -C ruby bench", rows: all
)}\n")
