# frozen_string_literal: true

require_relative "support/helper"
require_relative "support/pieces"
require "minitest/mock"
require "pathname"
require "securerandom"
require "stringio"
require "tempfile"

# In how many segments requests leave, as the receiver's kernel counts them, over TCP and TLS.
class CoalesceTest < OnewriteTest
  TIMES = 21

  def multipart(request, *fields)
    request.set_form(fields, "multipart/form-data")
    request
  end

  def streamed(source, length = nil)
    post.tap do |request|
      request.body_stream = source
      length ? request.content_length = length : request["Transfer-Encoding"] = "chunked"
    end
  end

  def file(content)
    Tempfile.new("onewrite-test").tap do |file|
      file.write(content)
      file.flush
      file.rewind
      @closing << -> { file.close! } # and so it is not collected, and the file with it, while its name is in use
    end
  end

  # name => [request maker, writes]
  KINDS = {
    "a GET" => [->(_) { Net::HTTP::Get.new("/") }, 1],
    "a string" => [->(t) { t.post("/", "x" * 200) }, 1],
    "a binary string under a UTF-8 header" =>
      [->(t) { t.post("/", "\xFF".b * 200, "Content-Type" => "text/plain", "X-Name" => "Zoë") }, 1],
    "a UTF-16 string" => [->(t) { t.post("/", ("é" * 100).encode("UTF-16LE")) }, 1],
    "a form" => [->(_) { Net::HTTP::Post.new("/").tap { |request| request.set_form_data("a" => "b") } }, 1],
    "an empty POST" => [->(_) { Net::HTTP::Post.new("/", "Content-Type" => "text/plain") }, 1],
    "an empty string" => [->(t) { t.post("/", "") }, 1],
    "multipart" => [->(t) { t.multipart(t.post, %w[a b], ["f", StringIO.new("x" * 300), { filename: "f" }]) }, 1],
    "chunked multipart" => [lambda do |t|
      request = t.multipart(t.post, %w[a b], ["f", t.file("x" * 300), { filename: "f" }])
      request["Transfer-Encoding"] = "chunked"
      request
    end, 1],
    "a StringIO" => [->(t) { t.streamed(StringIO.new("x" * 200), 200) }, 1],
    "a file" => [->(t) { t.streamed(File.open(t.file("x" * 200).path), 200) }, 1],
    "a Tempfile" => [->(t) { t.streamed(t.file("x" * 200), 200) }, 1],
    "a chunked StringIO" => [->(t) { t.streamed(StringIO.new("x" * 200)) }, 1],
    "an object that may block" => [->(t) { t.streamed(Pieces.new("x" * 100, "y" * 100), 200) }, 3],
    "the same, chunked" => [->(t) { t.streamed(Pieces.new("x" * 100, "y" * 100)) }, 4]
  }.freeze

  KINDS.each do |name, (make, writes)|
    [false, true].each do |tls|
      define_method("test_#{name} is #{writes} writes over #{tls ? "TLS" : "TCP"}") do
        tap = tap_server(tls: tls)
        http = session(tap)
        TIMES.times { http.request(make.call(self)) }
        assert_equal writes, tls ? tap.pieces : tap.segments
        assert_equal 1, tap.connections
      end
    end

    define_method("test_#{name} has the bytes it has without the gem") do
      tap = tap_server
      http = session(tap)
      make_same = -> { SecureRandom.stub(:urlsafe_base64, "boundary") { http.request(make.call(self)) } }
      make_same.call
      Onewrite.disable!
      make_same.call
      assert_equal tap.seen[1].bytes, tap.seen[0].bytes
    end
  end

  [16_384, 16_385, 100_000, 1_000_000].each do |size|
    [false, true].each do |tls|
      define_method("test_#{size} bytes begin with a write of head and body over #{tls ? "TLS" : "TCP"}") do
        tap = tap_server(tls: tls)
        session(tap).request(post("/", "x" * size))
        assert_operator tap.seen[0].pieces[0].bytesize, tls ? :== : :>, tls ? 16_384 : 1024
        assert_equal "x" * size, tap.seen[0].body
        assert_equal tap.seen[0].pieces.size, (tap.seen[0].bytes.bytesize / 16_384.0).ceil if tls
      end
    end
  end

  def test_head_and_body_of_16384_bytes_are_one_write_and_one_more_byte_makes_two
    tap = tap_server(tls: true)
    http = session(tap)
    request = post("/", "x")
    http.request(request)
    fixed = tap.seen[0].bytes.bytesize + 4 # Content-Length grows from one digit to five
    http.request(post("/", "x" * (16_384 - fixed + 1)))
    http.request(post("/", "x" * (16_384 - fixed + 2)))
    assert_equal [16_384], tap.seen[1].pieces.map(&:bytesize)
    assert_equal [16_384, 1], tap.seen[2].pieces.map(&:bytesize)
  end

  def test_a_large_stream_arrives_whole
    tap = tap_server
    content = Random.bytes(300_000)
    session(tap).request(streamed(StringIO.new(content), 300_000))
    assert_equal content, tap.seen[0].body
  end

  def test_expect_with_a_continue_timeout_sends_the_head_alone
    tap = tap_server(expect: "HTTP/1.1 100 Continue\r\n\r\n")
    http = session(tap) { |one| one.continue_timeout = 5 }
    TIMES.times { http.request(post("/", "x" * 200, "Content-Type" => "text/plain", "Expect" => "100-continue")) }
    assert_equal 2, tap.segments
    assert tap.seen.all? { |one| one.pieces[0].end_with?("\r\n\r\n") }
  end

  def test_expect_without_a_continue_timeout_is_one_write_because_stock_does_not_wait
    tap = tap_server
    http = session(tap)
    TIMES.times { http.request(post("/", "x" * 200, "Content-Type" => "text/plain", "Expect" => "100-continue")) }
    assert_equal 1, tap.segments
  end

  def test_an_answer_before_the_body_is_read_as_without_the_gem
    tap = tap_server(expect: "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
    seen = [true, false].map do |with|
      with ? Onewrite.enable! : Onewrite.disable!
      http = session(tap) { |one| one.continue_timeout = 5 }
      begin
        [http.request(post("/", "x" * 200, "Content-Type" => "text/plain", "Expect" => "100-continue")).code,
         socket_of(http).closed?]
      rescue NoMethodError
        skip "this net/http breaks on such an answer"
      end
    end
    assert_equal seen[1], seen[0]
    assert_equal "417", seen[0][0]
  end

  def test_the_head_is_not_held_while_a_source_blocks
    arrived = Queue.new
    server = TCPServer.new("127.0.0.1", 0)
    @closing << -> { server.close }
    Thread.new do
      socket = server.accept
      arrived << socket.readpartial(4096)
      socket.readpartial(4096)
      socket.write(Tap::OK)
    end
    reading = nil
    source = Object.new
    source.define_singleton_method(:read) do |_length = nil, buffer = String.new|
      next nil if reading

      reading = arrived.pop # hangs here if the head was kept back
      buffer.replace("hello")
    end
    Net::HTTP.start("127.0.0.1", server.addr[1]) { |http| http.request(streamed(source, 5)) }
    assert reading.end_with?("\r\n\r\n")
  end

  # Answers 413 after the head with Connection: close and closes with the body unread, so the client's next write fails
  # with EPIPE.
  def refusing
    server = TCPServer.new("127.0.0.1", 0)
    @closing << -> { server.close }
    Thread.new do
      loop do
        socket = server.accept
        text = +""
        text << socket.readpartial(4096) until text.include?("\r\n\r\n")
        socket.write("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big")
        socket.close_write
        socket.close
      end
    end
    server.addr[1]
  end

  LARGE = 32 << 20

  {
    "a string" => ->(t) { t.post("/", "x" * LARGE) },
    "a stream" => ->(t) { t.streamed(StringIO.new("x" * LARGE), LARGE) },
    "a chunked source that may block" => lambda do |t|
      t.streamed(Pieces.new(*Array.new(LARGE >> 20) { "x" * (1 << 20) }))
    end
  }.each do |name, make|
    define_method("test_an_answer_while_#{name} of 32 MB is being written is read, as without the gem") do
      port = refusing
      records = []
      answers = [true, false].map do |with|
        with ? Onewrite.enable! : Onewrite.disable!
        http = Net::HTTP.new("127.0.0.1", port, nil)
        http.onewrite_timing = records.method(:<<)
        begin
          http.start do
            response = http.request(make.call(self))
            [response.code, response.body, socket_of(http).closed?]
          end
        rescue SystemCallError => e
          e.class
        end
      end
      assert_equal answers[1], answers[0]
      skip "this net/http gives up there" unless answers[1].is_a?(Array)
      assert_equal ["413", "too big", true], answers[0]
      assert_equal [[:ok, 413]], records.map { |one| [one.outcome, one.status] }
      assert_operator records[0].bytes_sent, :<, 2 * LARGE
      assert_operator records[0].total_ns, :>=, records[0].send_ns
    end
  end

  # Sources of known size whose reads block until the test supplies the next piece.
  GIVEN = {
    "an object with a size" => lambda do |pieces|
      Struct.new(:pieces) do
        def size
          15
        end

        def read(_length = nil, buffer = String.new)
          (piece = pieces.pop) && buffer.replace(piece)
        end
      end.new(pieces)
    end,
    "an object that reads partially" => lambda do |pieces|
      Struct.new(:pieces) do
        def length
          15
        end

        def readpartial(_length, buffer = String.new)
          buffer.replace(pieces.pop || raise(EOFError))
        end

        def read(*)
          raise "asked for all"
        end
      end.new(pieces)
    end,
    "a StringIO that reads in its own way" => lambda do |pieces|
      StringIO.new.tap do |io|
        io.define_singleton_method(:size) { 15 }
        io.define_singleton_method(:readpartial) { |_, buffer = String.new| buffer.replace(pieces.pop || raise(EOFError)) }
      end
    end,
    "an object around a file that reads in its own way" => lambda do |pieces|
      Struct.new(:pieces, :to_io) do
        def size
          15
        end

        def read(_length = nil, buffer = String.new)
          (piece = pieces.pop) && buffer.replace(piece)
        end
      end.new(pieces, File.open(__FILE__))
    end,
    "a pipe" => lambda do |pieces|
      out, into = IO.pipe
      Thread.new do
        while (piece = pieces.pop)
          into.write(piece)
        end
        into.close
      end
      out
    end
  }.freeze

  # Reads one request and answers it. Calls the block each time the received bytes end with the next of *endings*.
  def handing(*endings)
    server = TCPServer.new("127.0.0.1", 0)
    @closing << -> { server.close }
    Thread.new do
      socket = server.accept
      text = +""
      endings.each do |ending|
        text << socket.readpartial(4096) until ending.match?(text)
        yield
      end
      socket.write(Tap::OK)
    end
    server.addr[1]
  end

  # A test that hangs here means that bytes were held.
  HEAD = /\r\n\r\n\z/.freeze

  GIVEN.each do |name, make|
    [true, false].each do |chunked|
      define_method("test_each_piece_of_#{name} leaves before the next is there#{", chunked" if chunked}") do
        pieces = Queue.new
        given = ["one--", "two--", "three", nil]
        port = handing(HEAD, /one--(\r\n)?\z/, /two--(\r\n)?\z/, /three(\r\n)?\z/) { pieces << given.shift }
        Net::HTTP.start("127.0.0.1", port) { |http| http.request(streamed(make.call(pieces), chunked ? nil : 15)) }
        assert_empty given
      end
    end
  end

  GIVEN.first(2).each do |name, make|
    define_method("test_the_head_of_a_form_with_#{name} leaves before its first piece") do
      pieces = Queue.new
      given = ["five-" * 3, nil]
      port = handing(/\r\n\r\n/, /five-\z/) { pieces << given.shift }
      request = multipart(post, ["f", make.call(pieces), { filename: "f" }])
      request["Transfer-Encoding"] = "chunked"
      assert_equal "200", Net::HTTP.start("127.0.0.1", port) { |http| http.request(request) }.code
    end
  end

  # IO.copy_stream also takes a path, or an object with to_path.
  def test_a_path_as_body_stream_works_as_without_the_gem
    tap = tap_server
    http = session(tap)
    path = file("x" * 200).path
    [path, Pathname.new(path)].each do |name|
      TIMES.times { http.request(streamed(name, 200)) }
      assert_equal "x" * 200, tap.seen.last.body
    end
    assert_equal 1, tap.segments
  end

  def test_nothing_is_held_while_a_named_pipe_is_read
    Dir.mktmpdir do |folder|
      path = File.join(folder, "pipe")
      File.mkfifo(path)
      [path, Pathname.new(path)].each do |name|
        writing = nil
        port = handing(HEAD, /hello\z/) { writing ||= Thread.new { File.write(path, "hello") } }
        assert_equal "200", Net::HTTP.start("127.0.0.1", port) { |http| http.request(streamed(name, 5)) }.code
      end
    end
  end

  def test_write_timeout_is_kept
    skip "this net/http has no write_timeout" unless Net.const_defined?(:WriteTimeout)

    server = TCPServer.new("127.0.0.1", 0) # accepts in its backlog, reads nothing
    @closing << -> { server.close }
    http = Net::HTTP.new("127.0.0.1", server.addr[1])
    http.write_timeout = 0.3
    http.max_retries = 0
    assert_raises(Net::WriteTimeout) { http.start { http.request(post("/", "x" * 20_000_000)) } }
  end

  def test_the_options_limit_what_is_joined
    tap = tap_server(tls: true)
    http = session(tap)
    http.request(post("/", "x" * 200))
    Onewrite.configure(coalesce_disabled: true)
    http.request(post("/", "x" * 200))
    Onewrite.configure(coalesce_disabled: nil, coalesce_max: 300)
    http.request(post("/", "x" * 200))
    assert_equal [1, 2, 2], tap.seen.map { |one| one.pieces.size }
    assert_equal 300, tap.seen.last.pieces[0].bytesize
  end

  def test_concurrent_sessions_do_not_mix
    tap = tap_server
    threads = Array.new(4) do |number|
      Thread.new do
        http = session(tap)
        20.times { http.request(post("/#{number}", number.to_s * 500)) }
      end
    end
    threads.each(&:join)
    assert_equal 80, tap.seen.size
    assert(tap.seen.all? { |one| one.body == one.line[%r{/(\d)}, 1] * 500 })
    assert_equal 1, tap.seen.map(&:segments).tally.max_by(&:last).first
  end

  def test_debug_output_shows_the_joined_write
    tap = tap_server
    log = +""
    http = session(tap) { |one| one.set_debug_output(log) }
    http.request(post("/", "hello"))
    assert_match(/<- "POST.*hello"/, log)
  end
end
