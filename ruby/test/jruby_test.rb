# frozen_string_literal: true

require_relative "support/helper"
require "tempfile"

# JRuby as the client, a tap in this Ruby as the server.
class JRubyTest < OnewriteTest
  LIMIT = 180
  VERSIONS = ENV.fetch("ONEWRITE_JRUBY", "9.0.5.0 9.1.17.0").split
  WRITES = {
    "get" => 1, "string" => 1, "utf8" => 1, "empty" => 1, "form" => 1, "multipart" => 1, "stringio" => 1, "file" => 1
  }.freeze

  def run_client(version, *urls)
    out, status = Tempfile.create("ca") do |file|
      file.write(Tap::Certificate::CERT.to_pem)
      file.flush
      Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil }, File.join(ROOT, "tools/jruby"), "run", version,
                      "-I", File.join(ROOT, "lib"), File.join(__dir__, "fixtures/every_body.rb"), file.path, *urls)
    end
    skip out if status.exitstatus == 77
    assert status.success?, out
    assert_equal urls.size, out.scan(/^jruby .* sent 201 requests$/).size
    refute_match(/^onewrite:/, out) # as of a TCP_NODELAY that could not be set
  end

  # @yieldreturn [Integer] segments or records of a request
  def assert_writes(tap, &count)
    by_kind = tap.seen.group_by { |one| one.line[%r{ /(\w+)}, 1] }
    WRITES.each { |kind, writes| assert_equal writes, mode(by_kind[kind].map(&count)), kind }
    # JRuby 9.0 reads two pieces at once.
    assert_includes [3, 4], mode(by_kind["chunked"].map(&count))
    assert_equal 100_000, tap.seen.last.body.bytesize
  end

  VERSIONS.each do |version|
    define_method("test_JRuby #{version} over TCP and TLS") do
      plain = tap_server
      tls = tap_server(tls: true)
      run_client(version, plain.url, tls.url)
      assert_writes(plain, &:segments)
      assert_writes(tls) { |one| one.pieces.size }
    end
  end
end
