# frozen_string_literal: true

# Loaded before net-http's own tests: the adapter in one of its variants, the assertions of Ruby's own test library that
# test-unit lacks, and a report of how each test ended.

# Before test-unit's own, so that it runs after the tests.
at_exit do
  errors = defined?(Onewrite) ? Onewrite.status[:hook_errors] : 0
  Outcome::REPORT.puts(errors.zero? ? "done\t" : "hooks raised #{errors} times\t")
end

require "test/unit"
require "net/http"

variant = ENV.fetch("ONEWRITE_UNDER_TEST")
require "onewrite" unless variant == "stock"

# A hook that reads every field.
Onewrite.on_timing { |record| [record.to_s, record.to_h, record.events] } if variant == "timed"

# Assertions of Ruby's own test library that the tests use.
module EnvUtil
  def self.apply_timeout_scale(seconds)
    seconds
  end

  def self.suppress_warning
    before = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = before
  end
end

# Reports to a file.
class Outcome
  REPORT = File.open(ENV.fetch("ONEWRITE_OUTSIDE_REPORT"), "a")
  REPORT.sync = true

  # Of a test case.
  module Told
    def run(*)
      super
    ensure
      how = passed? ? "pass" : "fail"
      how = "omit" if @internal_data.respond_to?(:omitted?) && @internal_data.omitted?
      REPORT.puts("#{how}\t#{name}")
    end
  end
end

# The assertions.
module Assertions
  def windows?(platform = RUBY_PLATFORM)
    /mswin|mingw/.match?(platform)
  end

  def assert_warning(expected)
    before = [$stderr, $VERBOSE]
    $stderr = StringIO.new
    $VERBOSE = true
    result = yield
    expected.is_a?(Regexp) ? assert_match(expected, $stderr.string) : assert_equal(expected, $stderr.string)
    result
  ensure
    $stderr, $VERBOSE = before
  end

  def assert_join_threads(threads)
    threads.each { |thread| thread.join(60) or flunk("a thread does not end") }
  end

  def assert_ractor(*)
    omit "needs Ruby's own test library"
  end
end

Test::Unit::TestCase.prepend(Outcome::Told)
Test::Unit::TestCase.include(Assertions)
