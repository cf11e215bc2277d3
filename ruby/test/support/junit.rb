# frozen_string_literal: true

require "fileutils"
require "minitest"

# Writes the results of minitest as JUnit XML, for the summary of all parts.
class JUnit < Minitest::AbstractReporter
  def initialize(path)
    super()
    @path = path
    @results = []
  end

  def record(result)
    @results << result
  end

  def report
    FileUtils.mkdir_p(File.dirname(@path))
    File.write(@path, xml)
  end

  def passed?
    true # the summary reporter judges
  end

  private

  def xml
    failed = @results.count { |result| !result.passed? && !result.skipped? }
    skipped = @results.count(&:skipped?)
    name = File.basename(@path, ".xml")
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
      "<testsuite name=\"#{name}\" tests=\"#{@results.size}\" failures=\"#{failed}\" errors=\"0\" skipped=\"#{skipped}\" " \
      "time=\"#{format("%.3f", @results.sum(&:time))}\">\n#{@results.map { |result| testcase(result) }.join}</testsuite>\n"
  end

  def testcase(result)
    inner = result.failures.map do |failure|
      kind = result.skipped? ? "skipped" : "failure"
      "<#{kind} message=\"#{escape(failure.message.lines.first.to_s.chomp)}\">#{escape(failure.message)}</#{kind}>"
    end
    "  <testcase classname=\"#{escape(result.klass)}\" name=\"#{escape(result.name)}\" time=\"#{format("%.3f", result.time)}\">" \
      "#{inner.join}</testcase>\n"
  end

  def escape(text)
    text.encode("UTF-8", invalid: :replace, undef: :replace).gsub(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]/, "?")
        .gsub(/[&<>"]/, "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", "\"" => "&quot;")
  end
end
