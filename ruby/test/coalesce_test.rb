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

  # Before net-http 0.2 the library copies a stream with a length to the io, past the buffer.
  STREAM = File.read(Net::HTTPGenericRequest.instance_method(:write_header).source_location.first).include?("sock.io)") ? 2 : 1

  # Before Ruby 2.6 the library writes the parts of a chunk by three calls.
  CHUNK = Net::BufferedIO.instance_method(:write).arity == 1 ? 3 : 1

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
    "an Expect that is not waited for" =>
      [->(t) { t.post("/", "x" * 200, "Content-Type" => "text/plain", "Expect" => "100-continue") }, 1],
    "multipart" => [->(t) { t.multipart(t.post, %w[a b], ["f", StringIO.new("x" * 300), { filename: "f" }]) }, 1],
    "multipart with a file" => [->(t) { t.multipart(t.post, %w[a b], ["f", t.file("x" * 300), { filename: "f" }]) }, 1],
    "a StringIO" => [->(t) { t.streamed(StringIO.new("x" * 200), 200) }, STREAM],
    "a file" => [->(t) { t.streamed(File.open(t.file("x" * 200).path), 200) }, STREAM],
    "a Tempfile, which is another object" => [->(t) { t.streamed(t.file("x" * 200), 200) }, 2],
    "a chunked StringIO" => [->(t) { t.streamed(StringIO.new("x" * 200)) }, CHUNK + 1],
    "an object that may block" => [->(t) { t.streamed(Pieces.new("x" * 100, "y" * 100), 200) }, 3],
    "the same, chunked" => [->(t) { t.streamed(Pieces.new("x" * 100, "y" * 100)) }, 2 + (2 * CHUNK)]
  }.freeze

  KINDS.each do |name, (make, writes)|
    [false, true].each do |tls|
      define_method("test_#{name} is #{writes} writes over #{tls ? "TLS" : "TCP"}, with the bytes it has without the gem") do
        tap = tap_server(tls: tls)
        http = session(tap)
        SecureRandom.stub(:urlsafe_base64, "boundary") do
          TIMES.times { http.request(make.call(self)) }
          assert_equal writes, tls ? tap.pieces : tap.segments
          Onewrite.uninstall
          http.request(make.call(self))
        end
        assert_equal [tap.seen.last.bytes], tap.seen.map(&:bytes).uniq
        assert_equal 1, tap.connections
      end
    end
  end

  # As in the library: two writes, with TCP_NODELAY on.
  def test_more_than_16384_bytes_are_not_joined
    tap = tap_server(tls: true)
    http = session(tap)
    http.request(post("/", "x"))
    fixed = tap.seen[0].bytes.bytesize + 4 # Content-Length grows from one digit to five
    http.request(post("/", "x" * (16_384 - fixed + 1)))
    http.request(post("/", "x" * (16_384 - fixed + 2)))
    assert_equal [16_384], tap.seen[1].pieces.map(&:bytesize)
    assert_equal [fixed - 1, 16_386 - fixed], tap.seen[2].pieces.map(&:bytesize)
    assert nodelay?(http)
  end

  def test_an_answer_before_the_body_is_read_as_without_the_gem
    tap = tap_server(expect: "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
    seen = [true, false].map do |with|
      with ? Onewrite.install : Onewrite.uninstall
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
      records = nil
      answers = [false, true].map do |with|
        with ? Onewrite.install : Onewrite.uninstall
        http = Net::HTTP.new("127.0.0.1", port, nil)
        records = records_of(http)
        begin
          http.start do
            response = http.request(make.call(self))
            [response.code, response.body, socket_of(http).closed?]
          end
        rescue SystemCallError => e
          e.class
        end
      end
      assert_equal(*answers)
      skip "this net/http gives up there" unless answers[0].is_a?(Array)
      assert_equal ["413", "too big", true], answers[0]
      assert_equal [[:ok, 413]], records.map { |one| [one.outcome, one.status] }
      assert_operator records[0].bytes_sent, :<, 2 * LARGE
      assert_operator records[0].total_ns, :>=, records[0].send_ns
    end
  end

  # Sources of known size whose reads block until the test supplies the next piece.
  Sized = Struct.new(:pieces, :to_io) do
    def size
      15
    end
    alias_method :length, :size

    def read(_length = nil, buffer = String.new)
      (piece = pieces.pop) && buffer.replace(piece)
    end
  end

  # Reads partially.
  class Partial < Sized
    def readpartial(_length, buffer = String.new)
      read(nil, buffer) || raise(EOFError)
    end
  end

  GIVEN = {
    "an object with a size" => ->(pieces) { Sized.new(pieces) },
    "an object that reads partially" => ->(pieces) { Partial.new(pieces) },
    "an object around a file that reads in its own way" => ->(pieces) { Sized.new(pieces, File.open(__FILE__)) },
    "a StringIO that reads in its own way" => lambda do |pieces|
      StringIO.new.tap do |io|
        io.define_singleton_method(:size) { 15 }
        io.define_singleton_method(:readpartial) { |_, buffer = String.new| buffer.replace(pieces.pop || raise(EOFError)) }
      end
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
    assert_equal 2, tap.segments
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

  def test_observing_joins_nothing
    Onewrite.install(observe: true)
    tap = tap_server(tls: true)
    session(tap).request(post("/", "x" * 200))
    assert_equal 2, tap.seen[0].pieces.size
  end

  # A log that is scrubbed by patterns must have each body in one piece.
  def test_debug_output_is_that_of_the_library
    [5, 20_000].each do |size|
      stock, ours = [false, true].map do |with|
        with ? Onewrite.install : Onewrite.uninstall
        log = +""
        http = session(tap_server) { |one| one.set_debug_output(log) }
        http.request(post("/", "x" * size))
        log.lines.grep(/^<- /).map { |line| line.gsub(/Host: [\d.:]+/, "") }
      end
      assert_equal stock, ours
    end
  end
end
