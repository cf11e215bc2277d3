# frozen_string_literal: true

require_relative "support/helper"
require_relative "support/pieces"
require "io/wait"
require "delegate"
require "minitest/mock"
require "securerandom"
require "stringio"
require "tempfile"

# In all else it is the library: each request is sent with the gem, with a hook and without the gem, and what the server saw
# and what the caller holds are compared.
class ParityTest < OnewriteTest
  # @yieldparam http [Net::HTTP]
  # @yieldreturn [Object] what the caller holds, without times
  # @return [String] that, the bytes that the server saw, and on which connections
  def seen(tls: false)
    tap = tap_server(tls: tls) { |one| "HTTP/1.1 200 OK\r\nContent-Length: #{one.body.bytesize}\r\n\r\n#{one.body}" }
    http = session(tap) { |one| one.read_timeout = 10 }
    held = begin
      SecureRandom.stub(:urlsafe_base64, "boundary") { yield http }
    rescue StandardError, ScriptError => e
      [e.class, e.message[/\A[\w ]*/]]
    end
    http.finish
    tap.settle
    [held, tap.seen.map { |one| [one.connection, one.bytes] }, tap.partial].inspect.gsub(":#{tap.port}", "")
  end

  def assert_parity(**options, &send)
    Onewrite.uninstall
    stock = seen(**options, &send)
    Onewrite.install
    assert_equal stock, seen(**options, &send)
    Onewrite.on_timing { nil }
    assert_equal stock, seen(**options, &send)
  end

  # A type of body or request per line; each takes the test.
  Rendered = Struct.new(:text) do
    def bytesize
      text.bytesize
    end

    def to_str
      text
    end
    alias_method :to_s, :to_str
  end

  # Of a template engine: its methods mean something else.
  class Template < String
    %i[+ b byteslice << concat dup force_encoding encoding size length == empty? to_s to_str].each do |name|
      define_method(name) { |*| raise TypeError, "not of a template" }
    end
  end

  # `bytesize` is not the size.
  class Liar < String
    def bytesize
      super - 3
    end
  end

  BODIES = {
    "an object with to_s" => -> { Rendered.new("hello") },
    "a String subclass with methods of its own" => -> { Template.new("hello") },
    "a large one" => -> { Template.new("x" * 30_000) },
    "a String with methods of its own" => -> { +"hello".dup.tap { |text| text.define_singleton_method(:b) { raise } } },
    "a String whose size is not its size" => -> { Liar.new("hello") },
    "a frozen String" => -> { "hello" },
    "an empty String" => -> { "" },
    "a binary String" => -> { "\xFF\x00".b },
    "20,000 bytes" => -> { "x" * 20_000 },
    "20,000 bytes of UTF-16" => -> { ("é" * 10_000).encode("UTF-16LE") }
  }.freeze

  BODIES.each do |what, body|
    [false, true].each do |tls|
      define_method("test_the body is #{what}#{" over TLS" if tls}") do
        skip "this net/http calls more methods of a body" if tls && !Net.const_defined?(:WriteTimeout)
        assert_parity(tls: tls) { |http| http.request(post("/", body.call)).body }
      end
    end
  end

  # Reads nothing of what it has, or less or more than announced, or fails. Where the server waits for more, a time limit ends it.
  SOURCES = {
    "a StringIO past its end" => ["5", -> { StringIO.new("hello").tap { |io| io.pos = 9 } }, 0.1],
    "a StringIO that is shorter" => ["9", -> { StringIO.new("hello") }, 0.1],
    "a StringIO that is longer" => ["3", -> { StringIO.new("hello") }],
    "a StringIO that cannot be read" => ["5", -> { StringIO.new("hello").tap(&:close_read) }],
    "a StringIO without a String" => ["0", -> { StringIO.new(nil) }],
    "a StringIO with its own method" => ["5", -> { Class.new(StringIO) { define_method(:method) { raise } }.new("hello") }],
    "a file of /proc" => ["5", -> { File.open("/proc/self/comm") }],
    "a file of /sys" => ["5", -> { File.open(Dir["/sys/kernel/mm/transparent_hugepage/enabled", "/proc/version"].first) }],
    "a file past its end" => ["5", -> { File.open(__FILE__).tap { |io| io.seek(1_000_000) } }, 0.1],
    "a file opened for writing" => ["5", -> { File.open(Tempfile.new("parity").path, "w") }],
    "a file that is closed" => ["5", -> { File.open(__FILE__).tap(&:close) }],
    "a path that is not there" => ["5", -> { "/nonexistent/file" }],
    "an object that raises" => ["5", -> { Object.new.tap { |one| one.define_singleton_method(:read) { |*| raise KeyError } } }],
    "a StringIO of several pieces" => ["50000", -> { StringIO.new(("a".."z").to_a.join * 2000) }],
    "a file of several pieces" => ["50000", lambda {
      Tempfile.new("parity").tap { |file| file.write(("a".."z").to_a.join * 2000) && file.rewind }
    }],
    "a StringIO of several pieces, chunked" => [nil, -> { StringIO.new(("a".."z").to_a.join * 2000) }],
    "chunks, one of them empty" => [nil, -> { Pieces.new("one", "", "two") }]
  }.freeze

  SOURCES.each do |what, (length, make, limit)|
    define_method("test_the source is #{what}") do
      skip "this net/http sends files by sendfile" if what == "a file of /proc" && !Net.const_defined?(:WriteTimeout)
      assert_parity do |http|
        request = post("/", nil, "Content-Type" => "text/plain")
        length ? request["Content-Length"] = length : request["Transfer-Encoding"] = "chunked"
        request.body_stream = source = make.call
        http.read_timeout = limit if limit
        code = begin
          http.request(request).code
        rescue StandardError => e
          e.class
        end
        [code, (source.pos if StringIO === source && !source.closed_read?), socket_of(http).closed?]
      end
    end
  end

  # Of a body without a length.
  class Sink < BasicObject
    def <<(piece)
      @got = "#{@got}#{piece}"
      self
    end

    def to_s
      @got
    end

    # Called from net-http 0.4 on.
    def nil?
      false
    end
  end

  { "a String whose size is not its size" => Liar, "an object that takes pieces alone" => Sink }.each do |what, type|
    define_method("test_the body of a response goes into #{what}") do
      http = session(tap_server { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" })
      records = records_of(http)
      into = type.new
      http.request_get("/") { |response| response.read_body(into) }
      assert_equal ["hello", 5], [into.to_s, records[0].bytes_received]
    end
  end

  [100, 20_000].each do |size|
    define_method("test_the error of a write of #{size} bytes is that of the library") do
      stock, ours = [false, true].map do |with|
        with ? Onewrite.install : Onewrite.uninstall
        http = session(tap_server)
        http.get("/")
        socket_of(http).io.shutdown(Socket::SHUT_WR)
        begin
          raise KeyError
        rescue KeyError
          error = assert_raises(Errno::EPIPE) { post("/", "x" * size).exec(socket_of(http), "1.1", "/") }
          [error.message, error.cause.class]
        end
      end
      assert_equal stock, ours
    end
  end

  def test_a_request_that_is_sent_again_with_another_body
    assert_parity do |http|
      request = post("/", "hello")
      first = http.request(request).body
      request.body_stream = StringIO.new("longer than before")
      request["Transfer-Encoding"] = "chunked"
      [first, http.request(request).code, request.to_hash]
    end
  end

  # A request that writes its head in pieces, and one that writes before it.
  PIECES = Class.new(Net::HTTP::Post) do
    def write_header(sock, ver, path)
      text = +"#{@method} #{path} HTTP/#{ver}\r\n"
      sock.write(text)
      text.replace("")
      each_capitalized { |name, value| sock << text.replace("#{name}: #{value}\r\n") }
      sock.write("\r\n")
    end
  end
  BEFORE = Class.new(Net::HTTP::Post) do
    def exec(sock, ver, path)
      sock.write("\r\n") # RFC 9112 §2.2
      super
    end
  end

  [PIECES, BEFORE].each_with_index do |type, at|
    [["a String", ->(one) { one.body = "hello" }],
     ["a source that may block", ->(one) { (one.body_stream = Pieces.new("he", "llo")) && one.content_length = 5 }],
     ["chunks", lambda { |one|
       one.body_stream = Pieces.new("he", "a\r\n")
       one["Transfer-Encoding"] = "chunked"
     }]].each do |what, give|
      define_method("test_a head #{at.zero? ? "in pieces" : "behind a line break"} before #{what}") do
        assert_parity { |http| http.request(type.new("/", "Content-Type" => "text/plain").tap(&give)).code }
      end
    end
  end

  def test_a_finished_session_can_be_dumped
    Onewrite.on_timing { nil }
    http = session(tap_server)
    http.request(post("/", "x"))
    http.finish
    copy = Marshal.load(Marshal.dump(http))
    assert_equal http.port, copy.port
    assert_equal "200", copy.start { copy.request(post("/", "x")).code }
    other = http.dup
    other.onewrite_timing = ->(_) {}
    assert_nil http.onewrite_timing
  end

  def test_two_sessions_that_share_a_connection_from_before_the_gem_get_their_own_answers
    assert_parity do |http|
      installed = Onewrite.status[:installed]
      Onewrite.uninstall
      http.finish
      http.start.get("/")
      copy = http.dup
      Onewrite.install if installed
      [copy, http, copy, http].each_with_index.map { |one, at| one.request(post("/", "body #{at}")).body }
    end
  end

  def test_an_idle_session_keeps_nothing_of_its_last_request
    http = session(tap_server)
    Onewrite.on_timing { nil }
    sent = Class.new(Net::HTTP::Put)
    Thread.new do
      request = sent.new("/", "Content-Type" => "text/plain", "Content-Length" => "5")
      request.body_stream = StringIO.new("hello")
      http.request(request)
    end.join
    http.get("/")
    Thread.new { (deep = ->(at) { at.zero? || deep.call(at - 1) }).call(500) }.join
    4.times { GC.start }
    assert_operator ObjectSpace.each_object(sent).count, :<=, 1 # the collector may take a stale word for a reference
  end

  { "frozen" => ->(one) { one.freeze },
    "with a frozen header" => ->(one) { one.tap { one.instance_variable_get(:@header).freeze } },
    "shared with Ractors" => ->(one) { defined?(Ractor) ? Ractor.make_shareable(one) : one.freeze } }.each do |what, freeze|
    define_method("test_a request that is #{what}") do
      [-> { Net::HTTP::Get.new("/") }, -> { post("/", "hello") }, lambda {
        post("/", nil, "Content-Length" => "5", "Host" => "x").tap { |one| one.body_stream = StringIO.new("hello") }
      }, lambda {
        post("/", "hello", "Content-Type" => "text/plain", "Host" => "x", "Connection" => "close")
      }].each do |make|
        assert_parity { |http| http.request(freeze.call(make.call)).code }
      end
    end
  end

  # (Writes and TCP_NODELAY: the judge, and nodelay_test.)
  def test_observing_leaves_a_connection_that_was_given_up_to_the_library
    Onewrite.install(observe: true)
    http = session(tap_server)
    catch(:enough) { http.request_get("/") { throw :enough } }
    assert_raises(Net::HTTPBadResponse) { http.get("/") }
    assert_equal [true, true], Onewrite.status.values_at(:observe, :installed)
  end

  # Ways to keep the connection of a request, and ways out of its block.
  TAKEN = { "the io" => ->(socket) { socket.io }, "the Net::BufferedIO" => ->(socket) { socket }, "nothing" => ->(_) {} }.freeze
  WAYS_OUT = {
    "a break" => ->(send, take) { send.call { |response| break take.call(response) } },
    "a throw" => ->(send, take) { catch(:out) { send.call { |response| throw :out, take.call(response) } } },
    "a killed thread" => lambda { |send, take|
      Thread.new { send.call { |response| take.call(response) && Thread.current.kill } }.join
    },
    "a Fiber that is left" => ->(send, take) { Fiber.new { send.call { |response| Fiber.yield take.call(response) } }.resume }
  }.freeze

  TAKEN.each do |what, take|
    WAYS_OUT.each do |how, leave|
      define_method("test_a program that keeps #{what} and leaves the block by #{how}") do
        [[Net::HTTP::Get, nil], [Net::HTTP::Post, "hello"]].each do |verb, body|
          assert_parity do |http|
            request = verb.new("/", "Content-Type" => "text/plain")
            request.body = body
            socket = socket_of(http)
            leave.call(->(&block) { http.request(request, &block) }, ->(_) { take.call(socket) || true })
            io = socket.io
            io.write("GET /more HTTP/1.1\r\n\r\n")
            [socket.closed?, io.closed?]
          end
        end
      end
    end
  end
end
