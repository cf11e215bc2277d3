# frozen_string_literal: true

# Runs the tests of this folder: the given files, or all. TEST=Class or TEST=Class#name runs that alone.
files = ARGV.empty? ? Dir[File.join(__dir__, "*_test.rb")].sort : ARGV.map { |file| File.expand_path(file) }
only = ENV.fetch("TEST", "")
filter = only.include?("#") ? only : "/\\A#{only}#/"
ARGV.replace(only.empty? ? [] : ["--name=#{filter}"])
files.each { |file| require file }

# A test that fails runs again, at most twice; the summary of `make test` reads the line that names it.
module Repeated
  def run_one_method(klass, method_name)
    first = super
    return first if first.passed? || first.skipped?

    2.times do
      again = super
      next unless again.passed?

      puts "RERUN #{klass}##{method_name}", first.failures.first.message
      return again
    end
    first
  end
end
Minitest.singleton_class.prepend(Repeated)
