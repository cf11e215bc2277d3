# frozen_string_literal: true

require_relative "support/helper"
require "tempfile"

# JRuby as the client, this Ruby's tap as the server: the kernel counts, whoever writes.
class JRubyTest < OnewriteTest
  LIMIT = 180
  VERSIONS = ENV.fetch("ONEWRITE_JRUBY", "9.4.12.0").split
  WRITES = {
    "get" => 1, "string" => 1, "utf8" => 1, "empty" => 1, "form" => 1, "multipart" => 1, "stringio" => 1, "file" => 1,
    "chunked" => 4
  }.freeze

  def run_client(version, tap, ca_file)
    command = [File.join(ROOT, "tools/jruby"), "run", version, "-I", File.join(ROOT, "lib"),
               File.join(__dir__, "fixtures/every_body.rb"), tap.url, ca_file]
    out, status = Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command)
    skip out if status.exitstatus == 77
    assert status.success?, out
    assert_match(/^jruby .* sent 51 requests$/, out)
    refute_match(/^onewrite:/, out) # as of a TCP_NODELAY that could not be set
  end

  def by_kind(tap)
    tap.seen.group_by { |one| one.line[%r{ /(\w+)}, 1] }
  end

  VERSIONS.each do |version|
    define_method("test_JRuby #{version} over TCP") do
      tap = tap_server
      run_client(version, tap, "none")
      WRITES.each do |kind, writes|
        assert_equal writes, by_kind(tap)[kind].map(&:segments).tally.max_by(&:last).first, kind
      end
      assert_equal 100_000, tap.seen.last.body.bytesize
    end

    define_method("test_JRuby #{version} over TLS") do
      tap = tap_server(tls: true)
      Tempfile.create("ca") do |file|
        file.write(Tap::Certificate::CERT.to_pem)
        file.flush
        run_client(version, tap, file.path)
      end
      WRITES.each do |kind, writes|
        assert_equal writes, by_kind(tap)[kind].map { |one| one.pieces.size }.tally.max_by(&:last).first, kind
      end
      assert_equal 100_000, tap.seen.last.body.bytesize
    end
  end
end
