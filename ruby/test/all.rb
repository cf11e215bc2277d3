# frozen_string_literal: true

# Runs the tests of one directory: the given files, or all.
files = ARGV.empty? ? Dir[File.join(__dir__, "*_test.rb")].sort : ARGV.map { |file| File.expand_path(file) }
ARGV.clear
files.each { |file| require file }
