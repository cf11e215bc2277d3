# frozen_string_literal: true

require_relative "support/helper"
require "json"
require "onewrite/opentelemetry"
require "pp" # rubocop:disable Lint/RedundantRequireStatement -- Ruby 2.4 and older

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
    forms = [record, *@events, record.kernel].compact.flat_map do |one|
      [one.inspect, one.to_h, one.as_json, one.to_json, Marshal.dump(one), PP.pp(one, +""),
       *one.instance_variables.map { |name| one.instance_variable_get(name) }]
    end
    [record.url, record.to_s, Onewrite::OpenTelemetry::Attributes.of_call(record), *forms].map { |form| form.to_s.b }.join("\n")
  end

  def test_a_whole_url_as_target
    tap = tap_server
    timed(session(tap)).request(post("http://user:secret@example.com/p?sig=secret", "x"))
    refute_includes all_that_is_shown, "secret"
    assert_equal "http://example.com/p?sig=REDACTED", @records[0].url
    assert_equal "POST http://user:secret@example.com/p?sig=secret HTTP/1.1", tap.seen[0].line
  end

  def test_every_form_of_a_signed_url
    tap = tap_server do
      sleep 0.003
      Tap::OK
    end
    timed(session(tap)).request(post("/p?X-Amz-Signature=secret&a=b", "x"))
    refute_includes all_that_is_shown, "secret"
    assert_equal [tap.url("/p?X-Amz-Signature=REDACTED&a=b"), "200"],
                 JSON.parse(@records[0].to_json).values_at("url", "status").map(&:to_s)
  end

  def test_a_path_in_another_encoding_is_text_in_utf8
    timed(session(tap_server)).request(post("/caf\xE9?a=b".dup.force_encoding("ISO-8859-1"), "x"))
    assert_equal "/caf%E9?a=b", URI(JSON.parse(JSON.generate(@records[0].to_h))["url"]).request_uri
  end

  def test_a_path_that_the_program_changes_later
    request = post("/before", "x")
    timed(session(tap_server)).request(request)
    request.path << "/after"
    assert @records[0].url.end_with?("/before")
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
    assert_equal "http://onewrite.invalid/", @records[0].url
    error = @events.find { |event| event.name == :connect_end }[:error]
    assert_match(/onewrite\.invalid/, error)
  end
end
