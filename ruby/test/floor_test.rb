# frozen_string_literal: true

require_relative "support/helper"
require "stringio"

# What is refused before a byte is sent, and that the connection lives on.
class FloorTest < OnewriteTest
  def request(method: "POST", path: "/", fields: {})
    Net::HTTPGenericRequest.new(method, true, true, path, { "Content-Type" => "text/plain" }.merge(fields)).tap do |one|
      one.body = "x"
    end
  end

  def stream(content, fields, source = StringIO.new(content))
    Net::HTTP::Post.new("/", { "Content-Type" => "text/plain" }.merge(fields)).tap { |one| one.body_stream = source }
  end

  REFUSED = {
    "a line break in a name" => [->(t) { t.request(fields: { "A: 1\r\nB" => "c" }) }, /header name/],
    "a space in a name" => [->(t) { t.request(fields: { "A " => "c" }) }, /header name/],
    "an empty name" => [->(t) { t.request(fields: { "" => "c" }) }, /header name/],
    "a NUL in a value" => [->(t) { t.request(fields: { "A" => "b\0c" }) }, /value of the header a/],
    "an escape in a value" => [->(t) { t.request(fields: { "A" => "b\ec" }) }, /value of the header a/],
    "a space in the path" => [->(t) { t.request(path: "/a b") }, /percent-encode/],
    "a line break in the path" => [->(t) { t.request(path: "/a\r\nB: c") }, /percent-encode/],
    "a space in the method" => [->(t) { t.request(method: "PO ST") }, /method/],
    "both framings" => [->(t) { t.stream("x", "Content-Length" => "1", "Transfer-Encoding" => "chunked") }, /exclude/],
    "a length that is no number" => [->(t) { t.stream("x", "Content-Length" => "1x") }, /one number/],
    "a StringIO that is shorter" => [->(t) { t.stream("x", "Content-Length" => "5") }, /says 5, but the body has 1/],
    "a file that is longer" =>
      [->(t) { t.stream("", { "Content-Length" => "5" }, File.open(__FILE__)) }, /says 5, but the body has \d+/],
    "a length without a body" => [->(_) { Net::HTTP::Get.new("/", "Content-Length" => "5") }, /says 5, but the body has 0/]
  }.freeze

  REFUSED.each do |name, (make, message)|
    define_method("test_#{name} is refused") do
      tap = tap_server
      http = session(tap)
      http.request(post("/", "before"))
      error = assert_raises(Onewrite::InvalidRequest) { http.request(make.call(self)) }
      assert_match message, error.message
      assert_kind_of ArgumentError, error
      http.request(post("/", "after"))
      assert_equal %w[before after], tap.seen.map(&:body)
      assert_equal 1, tap.connections
    end
  end

  def test_text_of_any_encoding_is_no_error
    tap = tap_server
    http = session(tap)
    ["Zoë", "Zo\xEB".b, "a\tb"].each do |value|
      http.request(request(fields: { "X-Name" => value }))
      assert_includes tap.seen.last.head, value.b
    end
  end

  def test_a_string_gets_its_true_length_as_without_the_gem
    tap = tap_server
    session(tap).request(request(fields: { "Content-Length" => "77", "Transfer-Encoding" => "chunked" }))
    assert_match(/^Content-Length: 1\r$/, tap.seen[0].head)
    refute_match(/chunked/, tap.seen[0].head)
  end

  # An object that knows no size.
  class Pieces
    def initialize(*pieces)
      @pieces = pieces
    end

    def read(_length = nil, buffer = String.new)
      piece = @pieces.shift
      piece && buffer.replace(piece)
    end
  end

  def test_a_stream_that_turns_out_longer_is_cut_and_ends_the_connection
    received = nil
    server = TCPServer.new("127.0.0.1", 0)
    reading = Thread.new { received = server.accept.read }
    http = Net::HTTP.start("127.0.0.1", server.addr[1])
    assert_raises(Onewrite::BodyLengthError) { http.request(stream("", { "Content-Length" => "5" }, Pieces.new("12345", "6"))) }
    assert_predicate socket_of(http), :closed?
    reading.join
    assert received.end_with?("\r\n\r\n12345")
  end

  def test_a_stream_that_turns_out_shorter_is_an_error_and_ends_the_connection
    http = session(tap_server)
    assert_raises(Onewrite::BodyLengthError) { http.request(stream("", { "Content-Length" => "5" }, Pieces.new("123"))) }
    assert_predicate socket_of(http), :closed?
  end

  def test_an_empty_piece_does_not_end_a_chunked_body
    tap = tap_server
    session(tap).request(stream("", { "Transfer-Encoding" => "chunked" }, Pieces.new("ab", "", "cd")))
    assert_equal "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", tap.seen[0].body
  end
end
