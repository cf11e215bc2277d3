# Parses each file named, with this Ruby's parser. Run by the oldest JRubies, because RuboCop reads Ruby 2.6 at the earliest.
require "jruby"

faults = ARGV.map do |file|
  begin
    JRuby.parse(File.open(file, "r:utf-8") { |io| io.read }, file)
    nil
  rescue SyntaxError => e
    "#{file}: Ruby #{RUBY_VERSION}: #{e.message}"
  end
end.compact
abort faults.join("\n") unless faults.empty?
puts "syntax of Ruby #{RUBY_VERSION}: #{ARGV.size} files"
