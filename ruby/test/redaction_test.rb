# frozen_string_literal: true

require_relative "support/helper"
require "onewrite/opentelemetry"

# Secrets in a URL are redacted in records and sent on the wire. (The rules: tables_test.)
class RedactionTest < OnewriteTest
  def setup
    super
    @records = []
    @events = []
    events = @events
    @listener = Object.new
    @listener.define_singleton_method(:on_event) { |event| events << event }
  end

  def timed(http)
    http.onewrite_timing = @records.method(:<<)
    http.onewrite_listener = @listener
    http
  end

  def all_that_is_shown
    record = @records.fetch(0)
    [record.url, record.to_s, record.inspect, record.to_h, Onewrite::OpenTelemetry::Attributes.of_call(record),
     @events.map(&:to_h)].map(&:to_s).join("\n")
  end

  def test_a_whole_url_as_target
    tap = tap_server
    timed(session(tap)).request(post("http://user:secret@example.com/p?sig=secret", "x"))
    refute_includes all_that_is_shown, "secret"
    assert_equal "http://example.com/p?sig=REDACTED", @records[0].url
    assert_equal "POST http://user:secret@example.com/p?sig=secret HTTP/1.1", tap.seen[0].line
  end

  def test_an_asterisk_as_target
    tap = tap_server
    timed(session(tap)).request(Net::HTTP::Options.new("*"))
    assert_equal tap.url("").chomp("/"), @records[0].url
  end

  # user:password@host as the host: the error of the resolver contains it.
  def test_a_host_with_a_password
    http = timed(Net::HTTP.new("user:secret@onewrite.invalid", 80, nil))
    assert_raises(SocketError) { http.get("/") }
    refute_includes all_that_is_shown, "secret"
    assert_equal "http://onewrite.invalid:80/", @records[0].url
    error = @events.find { |event| event.name == :connect_end }[:error]
    assert_match(/onewrite\.invalid/, error)
  end
end
