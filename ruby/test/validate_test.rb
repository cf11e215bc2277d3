# frozen_string_literal: true

require_relative "support/helper"
require_relative "support/pieces"
require "stringio"

# What is refused before a byte is sent, and that the connection stays usable.
class ValidateTest < OnewriteTest
  def request(method: "POST", path: "/", fields: {})
    Net::HTTPGenericRequest.new(method, true, true, path, { "Content-Type" => "text/plain" }.merge(fields)).tap do |one|
      one.body = "x"
    end
  end

  def stream(content, fields, source = StringIO.new(content))
    Net::HTTP::Post.new("/", { "Content-Type" => "text/plain" }.merge(fields)).tap { |one| one.body_stream = source }
  end

  REFUSED = {
    # From 0.10 on, net-http refuses such a name itself; a program can still put it into the Hash.
    "a line break in a name" =>
      [->(t) { t.request.tap { |one| one.instance_variable_get(:@header)["a: 1\r\nb"] = ["c"] } }, /header name/],
    "a space in a name" => [->(t) { t.request(fields: { "A " => "c" }) }, /header name/],
    "an empty name" => [->(t) { t.request(fields: { "" => "c" }) }, /header name/],
    "a NUL in a value" => [->(t) { t.request(fields: { "A" => "b\0c" }) }, /value of the header a/],
    "an escape in a value" => [->(t) { t.request(fields: { "A" => "b\ec" }) }, /value of the header a/],
    "a space in the path" => [->(t) { t.request(path: "/a b") }, /percent-encode/],
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

  AS_STOCK = {
    "a CR in the path" => ->(t) { t.request(path: "/a\rb") },
    "a line break in the path" => ->(t) { t.request(path: "/a\r\nB: c") },
    "a LF in the method" => ->(t) { t.request(method: "GE\nT") }
  }.freeze

  # The class is the library's own, and no subclass.
  AS_STOCK.each do |name, make|
    define_method("test_#{name} is refused as Net::HTTP refuses it") do
      tap = tap_server
      http = session(tap) { |one| one.onewrite_timing = (records = []).method(:<<) and @records = records }
      http.request(post("/", "before"))
      error = assert_raises(ArgumentError) { http.request(make.call(self)) }
      assert_instance_of ArgumentError, error
      assert_kind_of Onewrite::Error, error
      http.request(post("/", "after"))
      assert_equal %w[before after], tap.seen.map(&:body)
      assert_equal 1, tap.connections
      assert_equal [nil, :invalid_request, nil], @records.map(&:error_kind)
    end
  end

  def form(parts, options = {})
    Net::HTTP::Post.new("/").tap { |one| one.set_form(parts, "multipart/form-data", options) }
  end

  # A file whose name contains a line break.
  BAD_FILE = Struct.new(:to_path) do
    def read(*)
      nil
    end
  end

  BAD_PARTS = {
    "a line break in a name" => [[["a\r\nB: c", "x"]], /the name of a part/],
    "a NUL in a name of a Hash" => [{ "a\0" => "x" }, /the name of a part/],
    "a line break in a name of UTF-16" => [[["a\nb".encode("UTF-16LE"), "x"]], /the name of a part/],
    "a line break in a file name" => [[["a", StringIO.new("x"), { filename: "b\nc" }]], /the file name of a part/],
    "a line break in the name of a file" => [[["a", BAD_FILE.new("/tmp/b\rc")]], /the file name of a part/],
    "a line break in a part's type" =>
      [[["a", "x", { filename: "b", content_type: "text/plain\r\nX: y" }]], /the content type of a part/],
    "a line break in a part that is given once" => [[%w[a x], %W[b\nc y]].each_entry.lazy, /the name of a part/]
  }.freeze

  BAD_PARTS.each do |name, (parts, message)|
    [false, true].each do |chunked|
      define_method("test_#{name} of a form is refused#{", chunked" if chunked}") do
        tap = tap_server
        http = session(tap)
        request = form(parts)
        request["Transfer-Encoding"] = "chunked" if chunked
        error = assert_raises(Onewrite::InvalidRequest) { http.request(request) }
        assert_match message, error.message
        http.request(post("/", "after"))
        assert_equal ["after"], tap.seen.map(&:body)
        assert_equal 1, tap.connections
      end
    end
  end

  def test_a_line_break_in_a_boundary_is_refused
    error = assert_raises(Onewrite::InvalidRequest) { session(tap_server).request(form([%w[a b]], boundary: "b\r\nX: y")) }
    assert_match(/boundary/, error.message)
  end

  def test_names_of_any_encoding_are_sent
    tap = tap_server
    http = session(tap)
    http.request(form([["é".encode("UTF-16LE"), "x"]], charset: "UTF-8"))
    http.request(form([["\u3042".encode("Shift_JIS"), "x"], %w[plain z]].each_entry.lazy))
    assert_includes tap.seen[0].body, "name=\"é\"".b
    assert_includes tap.seen[1].body, "name=\"\x82\xA0\"".b
    assert_includes tap.seen[1].body, "name=\"plain\"\r\n\r\nz"
  end

  # A Content-Length that Net::HTTP set for the body before is not the user's.
  def test_a_request_that_is_sent_again_chunked_has_not_the_old_length
    tap = tap_server
    http = session(tap)
    request = form([%w[a b]])
    http.request(request)
    request["Transfer-Encoding"] = "chunked"
    2.times { http.request(request) }
    text = post("/", "text")
    http.request(text)
    text.body = nil
    text.body_stream = StringIO.new("stream")
    text["Transfer-Encoding"] = "chunked"
    http.request(text)
    heads = tap.seen.map { |seen| seen.head.scan(/^(Content-Length|Transfer-Encoding):/).flatten }
    long = ["Content-Length"]
    chunked = ["Transfer-Encoding"]
    assert_equal [long, chunked, chunked, long, chunked], heads
    assert_equal "6\r\nstream\r\n0\r\n\r\n", tap.seen.last.body
  end

  def test_a_request_that_is_sent_again_without_a_body_has_not_the_old_length
    tap = tap_server
    http = session(tap)
    request = Net::HTTP::Get.new("/", "Content-Type" => "text/plain")
    request.body = "text"
    http.request(request)
    request.body = nil
    http.request(request)
    assert_equal ["text", ""], tap.seen.map(&:body)
    refute_match(/content-length/i, tap.seen[1].head)
  end

  def test_a_length_that_the_user_set_after_the_first_sending_is_refused_beside_chunked
    http = session(tap_server)
    request = form([%w[a b]])
    http.request(request)
    request["Transfer-Encoding"] = "chunked"
    request.content_length = request.content_length
    assert_raises(Onewrite::InvalidRequest) { http.request(request) }
  end

  def test_values_of_any_encoding_are_sent
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

  # A source that IO.copy_stream reads with readpartial.
  def partial(*pieces)
    Object.new.tap do |source|
      source.define_singleton_method(:readpartial) { |_, buffer| buffer.replace(pieces.shift || raise(EOFError)) }
    end
  end

  def test_an_empty_piece_does_not_end_a_chunked_body
    tap = tap_server
    session(tap).request(stream("", { "Transfer-Encoding" => "chunked" }, partial("ab", "", "\r\n", "cd")))
    assert_equal "2\r\nab\r\n2\r\n\r\n\r\n2\r\ncd\r\n0\r\n\r\n", tap.seen[0].body
  end

  # IO.copy_stream ends at an empty `read`. The library would send the last chunk twice.
  def test_an_empty_read_ends_a_chunked_body_once
    tap = tap_server
    session(tap).request(stream("", { "Transfer-Encoding" => "chunked" }, Pieces.new("ab", "")))
    assert_equal "2\r\nab\r\n0\r\n\r\n", tap.seen[0].body
  end
end
