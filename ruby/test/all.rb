# frozen_string_literal: true

# Runs the tests of this folder: the given files, or all. TEST=Class or TEST=Class#name runs that alone.
files = ARGV.empty? ? Dir[File.join(__dir__, "*_test.rb")].sort : ARGV.map { |file| File.expand_path(file) }
only = ENV.fetch("TEST", "")
filter = only.include?("#") ? only : "/\\A#{only}#/"
ARGV.replace(only.empty? ? [] : ["--name=#{filter}"])
files.each { |file| require file }
