# frozen_string_literal: true

require_relative "support/helper"
require "delegate"
require "io/wait"

# Sockets that are not the library's own: any kind of io under Net::BufferedIO, and gems that wrap its methods.
class ConnectionTest < OnewriteTest
  # The methods that Net::HTTP needs of an io that never returns :wait_readable: no to_io, no socket options.
  class Duck
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
    Onewrite.disable!
    code, written = over_duck(tap)
    Onewrite.enable!
    assert_equal ["200", [written.sum]], [code, over_duck(tap)[1]]
    assert_equal 0, Onewrite.status[:nodelay_failures]
  end

  def test_an_io_without_to_io_is_timed
    records = []
    http = session(tap_server, OverDuck) { |one| one.onewrite_timing = records.method(:<<) }
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
    records = []
    http = session(tap_server) { |one| one.onewrite_timing = records.method(:<<) }
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
    assert_equal [:ok, 3, nil], [records[0].outcome, records[0].attempts.size, records[0].kernel]
  end

  def test_the_error_of_a_double_without_io_reaches_the_caller
    skip "this net/http repeats once" unless Net::HTTP.method_defined?(:max_retries=)
    double, records = over_double(100) { |http| assert_raises(Errno::ECONNRESET) { http.delete("/") } }
    assert_equal 4, double.asked
    assert_equal [[:error] * 4], records.map { |one| one.attempts.map(&:outcome) }
  end

  # @return [String] code that counts the bytes of *name* of Net::BufferedIO by an alias chain
  def self.counting_chain(name)
    <<~RUBY
      require "net/http"
      class Net::BufferedIO
        alias #{name}_without_count #{name}

        def #{name}(*texts)
          $count += texts.sum(&:bytesize)
          #{name}_without_count(*texts)
        end
      end
    RUBY
  end

  # Ways in which other code counts the bytes that are written.
  COUNTERS = {
    "a chain of aliases over write" => counting_chain(:write),
    "a chain of aliases over write0" => counting_chain(:write0),
    "a module before write" => <<~'RUBY',
      require "net/http"
      Net::BufferedIO.prepend(Module.new do
        def write(*texts)
          $count += texts.sum(&:bytesize)
          super
        end
      end)
    RUBY
    "a subclass of its own" => <<~'RUBY'
      require "net/http"
      class Counting < Net::BufferedIO
        def write(*texts)
          $count += texts.sum(&:bytesize)
          super
        end
      end

      class Net::HTTP
        def on_connect
          @socket = Counting.new(@socket.io)
        end
      end
    RUBY
  }.freeze

  COUNTERS.each do |name, code|
    { "before" => "#{code}require 'onewrite'\n", "after" => "require 'onewrite'\n#{code}" }.each do |order, setup|
      define_method("test_#{name}, #{order} the gem, sees every byte") do
        tap = tap_server
        out = ruby(<<~RUBY, env: { "PORT" => tap.port.to_s }, options: ["-W0"])
          $count = 0
          #{setup}
          writes = []
          Onewrite.on_timing { |t| writes << t.writes }
          Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil) do |http|
            3.times { http.post("/", "x" * 200, "Content-Type" => "text/plain") }
          end
          puts $count, writes.join(" ")
        RUBY
        assert_equal [tap.seen.sum { |one| one.bytes.bytesize }, "1 1 1"], [out.lines[0].to_i, out.lines[1].chomp]
      end
    end
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
    records = []
    http = session(tap) { |one| one.onewrite_timing = records.method(:<<) }
    http.instance_variable_set(:@socket, proxy = Proxy.new(socket_of(http)))
    2.times { assert_equal "200", http.request(post("/", "x" * 20_000)).code }
    assert_equal [tap.seen.sum { |one| one.bytes.bytesize }, [[:ok, 200]] * 2],
                 [proxy.count, records.map { |one| [one.outcome, one.status] }]
  end

  # Ways to count the bytes that leave by a plain socket; each takes the Net::BufferedIO and a block.
  COUNTING = {
    "write_nonblock of the socket" => ->(socket, count) { counted(socket.io, :write_nonblock, count) },
    "write of the buffer" => ->(socket, count) { counted(socket, :write, count) },
    "write0 of the buffer" => ->(socket, count) { counted(socket, :write0, count) },
    "another io" => lambda { |socket, count|
      socket.instance_variable_set(:@io, SimpleDelegator.new(socket.io).tap { |io| counted(io, :write_nonblock, count) })
    }
  }.freeze

  def self.counted(object, name, count)
    object.define_singleton_method(name) do |*texts, **options|
      count.call(texts.sum(&:bytesize))
      options.empty? ? super(*texts) : super(*texts, **options)
    end
  end

  COUNTING.each do |what, set|
    [0, 1].each do |before|
      define_method("test_#{what}, replaced after #{before} requests, gets every byte") do
        skip "this net/http writes with other methods" unless Net.const_defined?(:WriteTimeout)
        tap = tap_server
        http = session(tap)
        before.times { http.request(post("/", "x")) }
        counts = []
        set.call(socket_of(http), counts.method(:<<))
        [200, 20_000, 200_000].each { |size| http.request(post("/", "x" * size)) }
        sent = tap.seen.drop(before).sum { |one| one.bytes.bytesize }
        # A write that the kernel takes in part is repeated with the rest.
        what.start_with?("write of", "write0") ? assert_equal(sent, counts.sum) : assert_operator(counts.sum, :>=, sent)
      end
    end
  end

  def test_an_encoding_of_the_socket_changes_no_byte
    tap = tap_server
    http = session(tap)
    socket_of(http).io.set_encoding("UTF-16LE")
    [200, 20_000].each { |size| assert_equal "200", http.request(post("/", "x" * size)).code }
    assert_equal(["x"], tap.seen.map { |one| one.body.squeeze }.uniq)
  end

  def test_the_url_of_an_ipv6_address_is_one
    begin
      listen = TCPServer.new("::1", 0)
    rescue SystemCallError
      skip "this machine has no IPv6"
    end
    tap_server(listen: listen)
    records = []
    http = Net::HTTP.new("::1", listen.addr[1], nil)
    http.onewrite_timing = records.method(:<<)
    http.start { http.request(post("/a?b", "x")) }
    assert_equal "http://[::1]:#{listen.addr[1]}/a?b", records[0].url
    assert_equal "::1", URI(records[0].url).hostname
  end

  def test_the_url_has_no_zone
    records = []
    http = Net::HTTP.new("fe80::1%nowhere", 9, nil)
    http.onewrite_timing = records.method(:<<)
    assert_raises(StandardError) { http.get("/") }
    assert_equal "http://[fe80::1]:9/", records[0].url
  end
end
