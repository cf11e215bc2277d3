# frozen_string_literal: true

# Runs net-http's own tests over stock, over the patch, and over the patch with hooks on. A test that passes over stock
# and fails over the patch fails the run, unless allowed-deviations.txt names it; so does a line of that file whose test
# passes.
#
# The tests are not part of this repository: ../build/outside/net-http, or NET_HTTP_SRC, is a clone of ruby/net-http (some
# of its releases are run, each with its own library), or the unpacked source of one version.

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# One source tree of net-http.
class Tree
  attr_reader :name

  def initialize(name, directory)
    @name = name
    @directory = directory
  end

  # @param only [String, nil] a test, such as "test_get(TestNetHTTPS)"
  # @return [Hash{String => String}] how each test ended, by its name
  def run(variant, only = nil)
    Dir.mktmpdir do |scratch|
      report = File.join(scratch, "report")
      out, status = Open3.capture2e({ "ONEWRITE_UNDER_TEST" => variant, "ONEWRITE_OUTSIDE_REPORT" => report,
                                      "RUBYOPT" => nil, "RUBYLIB" => nil },
                                    *command(*only.to_s.scan(/[^()]+/)), chdir: @directory)
      lines = File.exist?(report) ? File.readlines(report, chomp: true) : []
      results = lines.map { |line| line.split("\t", 2).reverse }.to_h
      next results if results.delete("") == "done"

      abort "#{name} over #{variant} ended with #{status.exitstatus}:\n#{out.chars.last(2000).join}"
    end
  end

  private

  def command(name = nil, testcase = nil)
    library = File.exist?(File.join(@directory, "net-http.gemspec")) ? %w[-I lib] : []
    chosen = name ? ["--name=#{name}", "--testcase=#{testcase}"] : []
    [RbConfig.ruby, "-W0", *library, "-I", File.expand_path("../../lib", __dir__),
     "-r", File.join(__dir__, "under_test.rb"),
     "-e", "Dir['test/net/http/test_*.rb'].sort.each { |file| require File.expand_path(file) }",
     "--", "--runner=console", "--verbose=silent", *chosen]
  end
end

# The comparison of the variants.
class Suites
  TAGS = %w[v0.2.0 v0.4.1 v0.6.0 v0.9.1].freeze
  PATCHED = %w[patched timed].freeze
  SOURCE = ENV.fetch("NET_HTTP_SRC") { File.expand_path("../../../build/outside/net-http", __dir__) }

  def run
    return skip unless File.directory?(SOURCE)

    Dir.mktmpdir do |scratch|
      trees(scratch).each { |tree| compare(tree) }
    end
    idle = @allowed.keys - @used
    idle.each { |pattern| puts "allowed-deviations.txt: #{pattern} deviates nowhere" }
    exit 1 unless @found.zero? && idle.empty?
  end

  def initialize
    lines = File.readlines(File.join(__dir__, "allowed-deviations.txt"), chomp: true)
    @allowed = lines.reject { |line| line.empty? || line.start_with?("#") }.map { |line| line.split(/  +/, 2) }.to_h
    @used = []
    @found = 0
  end

  private

  def skip
    puts "net-http's own tests: skipped, #{SOURCE} is not there: git clone https://github.com/ruby/net-http to it, or name " \
         "a clone by NET_HTTP_SRC"
  end

  def trees(scratch)
    return [Tree.new(File.basename(SOURCE), SOURCE)] unless repository?

    tags = TAGS & `git -C '#{SOURCE}' tag`.split
    [*tags, "HEAD"].map do |tag|
      FileUtils.mkdir_p(directory = File.join(scratch, tag))
      system("git -C '#{SOURCE}' archive #{tag} | tar -x -C '#{directory}'", exception: true)
      Tree.new(tag, directory)
    end
  end

  def repository?
    File.exist?(File.join(SOURCE, ".git")) || File.exist?(File.join(SOURCE, "HEAD"))
  end

  def compare(tree)
    stock = tree.run("stock")
    tell(tree, "stock", stock)
    PATCHED.each do |variant|
      results = tree.run(variant)
      tell(tree, variant, results)
      fails = stock.keys.select { |test| stock[test] == "pass" && results[test] != "pass" }
      # Tests of timing may fail on a busy machine, so each gets three tries.
      fails.reject { |test| 2.times.any? { tree.run(variant, test)[test] == "pass" } }.each { |test| deviates(test) }
    end
  end

  def tell(tree, variant, results)
    counts = results.values.tally
    said = counts.sort.map { |how, count| "#{count} #{how}" }.join(", ")
    puts "net-http #{tree.name.ljust(8)} #{variant.ljust(8)} #{results.size} tests: #{said}"
    $stdout.flush
  end

  def deviates(test)
    pattern = @allowed.keys.find { |one| test.include?(one) }
    @used |= [pattern] if pattern
    puts "  deviates: #{test}#{pattern ? " (allowed: #{@allowed[pattern]})" : ""}"
    @found += 1 unless pattern
  end
end

Suites.new.run
