# frozen_string_literal: true

require_relative "support/helper"
require "tempfile"

# Another Ruby as the client, whole or a legacy one, and a tap in this Ruby as the server.
class OtherRubiesTest < OnewriteTest
  LIMIT = 240
  # Commands that start a Ruby, by what differs; SEED chooses one of each. WHOLE=1 and a run without SEED have all.
  JRUBIES = [%w[9.0.5.0 9.1.17.0], ["1.7.27", "1.7.27 --2.0"]].freeze
  RANDOM = (Random.new(Integer(ENV["SEED"])) if ENV["SEED"] && !ENV["WHOLE"])
  RUBIES = ENV["ONEWRITE_RUBIES"].to_s.split(",").freeze
  CHOSEN = RANDOM ? JRUBIES.map { |some| some.sample(random: RANDOM) } : JRUBIES.flatten
  WRITES = {
    "get" => 1, "string" => 1, "utf8" => 1, "empty" => 1, "form" => 1, "chunked-multipart" => 1, "chunked" => 1
  }.freeze
  # Before net-http 0.2 the library copies a stream with a length to the io, past the buffer.
  STREAMS = %w[multipart stringio file].freeze

  # @return [String] what it printed
  def run_client(command, *urls)
    out, status = Tempfile.create("ca") do |file|
      file.write(Tap::Certificate::CERT.to_pem)
      file.flush
      Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command.split, "-I", "lib",
                      "test/fixtures/other_ruby.rb", file.path, *urls, chdir: ROOT)
    end
    skip out if status.exitstatus == 77
    assert status.success?, out
    refute_match(/^onewrite:/, out) # as of a TCP_NODELAY that could not be set
    out
  end

  # @yieldreturn [Integer] segments or records of a request
  # @return [Array<String>] first parts of the paths
  def assert_requests(tap, &count)
    by_path = tap.seen.group_by { |one| one.line[%r{ (/\S+)}, 1] }
    by_path.each_key.grep(%r{\A/gem/}) do |path|
      kind = path[%r{[^/]+\z}]
      assert_equal WRITES[kind], mode(by_path[path].map(&count)), kind if WRITES.key?(kind)
      assert_operator mode(by_path[path].map(&count)), :<=, 2, kind if STREAMS.include?(kind)
      stock, = by_path.fetch("/stock/#{kind}")
      assert_equal [stock.bytes.sub("/stock/", "/gem/")], by_path[path].map(&:bytes).uniq, kind
    end
    assert_equal [100_000], by_path.fetch("/gem/large").map { |one| one.body.bytesize }.uniq
    assert_equal 1, mode(by_path["/wrapped"].map(&count)) if by_path["/wrapped"]
    by_path.keys
  end

  (RUBIES.empty? ? CHOSEN.map { |version| "tools/jruby run #{version}" } : RUBIES).each do |command|
    define_method("test_#{command} over TCP and TLS, interrupted, and before 2.1 with other wrappers") do
      plain = tap_server
      tls = tap_server(tls: true)
      out = run_client(command, plain.url, tls.url)
      paths = assert_requests(plain, &:segments)
      urls = out[/^(\d) URLs, enabled: true/, 1].to_i
      assert_equal 2, urls unless command.include?("/ruby") # a Ruby that was built without OpenSSL
      assert_requests(tls) { |one| one.pieces.size } if urls == 2
      assert_match(/^stock (.+), ours \1, ok$/, out)
      refute_includes paths, "/interrupted"
      legacy = out.include?("is older than 2.1")
      assert_equal legacy, paths.include?("/wrapped")
      # Connections and requests, each counted by two wrappers.
      assert_equal (urls == 2 ? "4 80" : "2 40"), out[/^wrappers (.*)$/, 1] if legacy
    end
  end
end
