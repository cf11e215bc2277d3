# frozen_string_literal: true

require_relative "support/helper"
require "delegate"
require "io/wait"

# Sockets that are not the library's own: any kind of io under Net::BufferedIO, and gems that wrap its methods.
class ConnectionTest < OnewriteTest
  # The methods that Net::HTTP needs of an io that never returns :wait_readable: no to_io, no socket options, no `is_a?`.
  class Duck < BasicObject
    attr_reader :written

    def initialize(socket)
      @socket = socket
      @written = []
    end

    def read_nonblock(size, *buffer, exception: true)
      @socket.wait_readable
      @socket.read_nonblock(size, *buffer, exception: exception)
    end

    def write_nonblock(text, exception: true)
      @socket.write_nonblock(text, exception: exception).tap { |size| @written << size }
    end

    def write(*texts)
      @socket.write(*texts).tap { |size| @written << size }
    end

    def closed?
      @socket.closed?
    end

    def close
      @socket.close
    end
  end

  # As network doubles in tests, or tunnels, do it.
  class OverDuck < Net::HTTP
    attr_reader :duck

    private

    def connect
      @duck = Duck.new(TCPSocket.new(address, port))
      @socket = Net::BufferedIO.new(@duck)
      on_connect
    end
  end

  def over_duck(tap)
    http = session(tap, OverDuck)
    [http.request(post("/", "x" * 200)).code, http.duck.written]
  end

  def test_an_io_without_to_io_works_as_it_does_without_the_gem
    tap = tap_server
    Onewrite.uninstall
    code, written = over_duck(tap)
    Onewrite.install
    assert_equal ["200", [written.sum]], [code, over_duck(tap)[1]]
  end

  def test_an_io_without_to_io_is_timed
    http = session(tap_server, OverDuck)
    records = records_of(http)
    http.request(post("/", "x" * 200))
    assert_equal [:ok, 1, nil, nil], [records[0].outcome, records[0].writes, records[0].kernel, records[0].cause]
    assert_operator records[0].wait_ns, :>, 0
  end

  # A double of Net::BufferedIO as other projects' tests have it: no io, and only the methods that Net::HTTP calls.
  class Double
    attr_reader :asked

    def initialize(succeeds_at)
      @succeeds_at = succeeds_at
      @asked = 0
    end

    def close; end

    def closed?; end

    def write(*) end

    def readline
      @asked += 1
      raise Errno::ECONNRESET if @asked < @succeeds_at

      "HTTP/1.1 200 OK"
    end

    def readuntil(*)
      ""
    end

    def read_all(*) end
  end

  # @yieldparam http [Net::HTTP] whose socket is a double
  def over_double(succeeds_at)
    http = session(tap_server)
    records = records_of(http)
    socket_of(http).close
    http.instance_variable_set(:@socket, double = Double.new(succeeds_at))
    http.max_retries = 3 if http.respond_to?(:max_retries=)
    yield http
    [double, records]
  end

  def test_a_double_without_io_is_retried_as_without_the_gem
    skip "this net/http repeats once" unless Net::HTTP.method_defined?(:max_retries=)
    double, records = over_double(3) { |http| assert_equal "200", http.get("/").code }
    assert_equal 3, double.asked
    assert_empty records # of a connection that is no object of the library's class
  end

  def test_the_error_of_a_double_without_io_reaches_the_caller
    skip "this net/http repeats once" unless Net::HTTP.method_defined?(:max_retries=)
    double, records = over_double(100) { |http| assert_raises(Errno::ECONNRESET) { http.delete("/") } }
    assert_equal 4, double.asked
    assert_empty records
  end

  # An object in the place of the Net::BufferedIO. The library calls no more of it than this.
  class Proxy < BasicObject
    attr_reader :count

    def initialize(socket)
      @socket = socket
      @count = 0
    end

    def write(*texts)
      @count += texts.sum(&:bytesize)
      @socket.write(*texts)
    end

    def nil?
      false
    end

    %i[readline readuntil read read_all close closed? io continue_timeout eof? debug_output].each do |name|
      define_method(name) { |*args, &block| @socket.__send__(name, *args, &block) }
    end
  end

  def test_an_object_in_the_place_of_the_socket_gets_every_byte
    tap = tap_server
    http = session(tap)
    records_of(http)
    http.instance_variable_set(:@socket, proxy = Proxy.new(socket_of(http)))
    2.times { assert_equal "200", http.request(post("/", "x" * 20_000)).code }
    assert_equal tap.seen.sum { |one| one.bytes.bytesize }, proxy.count
  end

  def test_the_url_of_an_ipv6_address_is_one
    begin
      listen = TCPServer.new("::1", 0)
    rescue SystemCallError
      skip "this machine has no IPv6"
    end
    tap_server(listen: listen)
    http = Net::HTTP.new("::1", listen.addr[1], nil)
    records = records_of(http)
    http.start { http.request(post("/a?b", "x")) }
    assert_equal "http://[::1]:#{listen.addr[1]}/a", records[0].url
    assert_equal "::1", URI(records[0].url).hostname
  end
end
