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
  ONE_WRITE = %w[get string utf8 empty].freeze # and from 2.1 on forms

  # @return [String] what it printed
  def run_client(command, env, *urls)
    out, status = Tempfile.create("ca") do |file|
      file.write(Tap::Certificate::CERT.to_pem)
      file.flush
      Open3.capture2e({ "RUBYOPT" => nil, "RUBYLIB" => nil }.merge(env), *command.split, "-I", "lib",
                      "test/fixtures/other_ruby.rb", file.path, *urls, chdir: ROOT)
    end
    skip out if status.exitstatus == 77
    assert status.success?, out
    refute_match(/^onewrite:/, out) # as of a TCP_NODELAY that could not be set
    out
  end

  # @yieldreturn [Integer] segments or records of a request
  def assert_requests(tap, legacy, &count)
    by_path = tap.seen.group_by { |one| one.line[%r{ (/\S+)}, 1] }
    kinds = by_path.keys.grep(%r{\A/gem/}) { |path| path[%r{[^/]+\z}] }
    assert_operator kinds.size, :>, 8
    kinds.each do |kind|
      ours, stock = %w[gem stock].map { |who| by_path.fetch("/#{who}/#{kind}") }
      assert_equal 1, mode(ours.map(&count)), kind if ONE_WRITE.include?(kind)
      # With Nagle's algorithm on, as before 2.1, the kernel joins what is written later.
      assert_operator mode(ours.map(&count)), :<=, mode(stock.map(&count)), kind unless legacy
      assert_equal [stock[0].bytes.sub("/stock/", "/gem/")], ours.map(&:bytes).uniq, kind
    end
  end

  (RUBIES.empty? ? CHOSEN.map { |version| "tools/jruby run #{version}" } : RUBIES).each do |command|
    define_method("test_#{command} over TCP and TLS, and interrupted") do
      plain = tap_server
      tls = tap_server(tls: true)
      out, = %w[0 1].map { |off| run_client(command, off == "1" ? { "ONEWRITE_DISABLED" => "1" } : {}, plain.url, tls.url) }
      urls = out[/^(\d) URLs, installed: true/, 1].to_i
      assert_equal 2, urls unless command.include?("/ruby") # a Ruby that was built without OpenSSL
      legacy = out.include?("is older than 2.1")
      assert_requests(plain, legacy, &:segments)
      assert_requests(tls, legacy) { |one| one.pieces.size } if urls == 2
      assert_includes out, "interrupted: timeout raised, then ok" unless legacy
    end
  end
end
