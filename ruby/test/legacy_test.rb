# frozen_string_literal: true

require_relative "support/helper"
require "tempfile"

# A Ruby before 2.1 as the client, a tap in this Ruby as the server.
class LegacyTest < OnewriteTest
  LIMIT = 240
  # Commands that start such a Ruby.
  RUBIES = ENV.fetch("ONEWRITE_LEGACY", "tools/jruby run 1.7.27,tools/jruby run 1.7.27 --2.0").split(",")
  WRITES = {
    "get" => 1, "string" => 1, "utf8" => 1, "empty" => 1, "form" => 1, "multipart" => 1, "chunked-multipart" => 1,
    "stringio" => 1, "file" => 1, "chunked" => 1
  }.freeze

  def run_client(command, *urls)
    Tempfile.create("ca") do |file|
      file.write(Tap::Certificate::CERT.to_pem)
      file.flush
      out, status = Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command.split, "-I", "lib",
                                    "test/fixtures/legacy_client.rb", file.path, *urls, chdir: ROOT)
      assert status.success?, out
      out.lines.map(&:chomp).last(5)
    end
  end

  # @yieldreturn [Integer] segments or records of a request
  def assert_requests(tap, &count)
    by_path = tap.seen.group_by { |one| one.line[%r{ (/\S+)}, 1] }
    by_path.each_key.grep(%r{\A/gem/}) do |path|
      kind = path[%r{[^/]+\z}]
      assert_equal WRITES[kind], mode(by_path[path].map(&count)), kind if WRITES.key?(kind)
      stock, = by_path.fetch("/stock/#{kind}")
      assert_equal [stock.bytes.sub("/stock/", "/gem/")], by_path[path].map(&:bytes).uniq, kind
    end
    assert_equal [100_000], by_path.fetch("/gem/large").map { |one| one.body.bytesize }.uniq
    assert_equal 1, mode(by_path.fetch("/wrapped").map(&count))
  end

  RUBIES.each do |command|
    define_method("test_#{command} over TCP and TLS, interrupted, and with other wrappers") do
      plain = tap_server
      tls = tap_server(tls: true)
      after, calls, urls, enabled, said = run_client(command, plain.url, tls.url)
      assert_requests(plain, &:segments)
      assert_equal "2", urls unless command.include?("/ruby") # a Ruby that was built without OpenSSL
      assert_requests(tls) { |one| one.pieces.size } if urls == "2"
      assert_match(/\Astock (.+), ours \1, ok\z/, after)
      assert_empty(plain.seen.select { |one| one.line.include?(" /interrupted") })
      assert_equal urls == "2" ? "4 80" : "2 40", calls # connections and requests, each counted by two wrappers
      assert_equal "true", enabled
      assert_includes said, "is older than 2.1"
    end
  end
end
