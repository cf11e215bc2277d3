# frozen_string_literal: true

require_relative "../driver/kinds"
require_relative "support/helper"
require "stringio"
require "tmpdir"

# TCP_NODELAY on each connection, whoever opened it.
class NodelayTest < OnewriteTest
  # Like gems for SOCKS: sets no socket option and calls none of Net::HTTP's hooks.
  class OwnConnect < Net::HTTP
    private

    def connect
      @socket = Net::BufferedIO.new(TCPSocket.new(address, port))
      @last_communicated = nil
    end
  end

  # Like gems for Docker: a Unix socket instead of TCP.
  class UnixConnect < Net::HTTP
    attr_accessor :path

    private

    def connect
      @socket = Net::BufferedIO.new(UNIXSocket.new(path))
      on_connect
    end
  end

  def test_a_subclass_with_its_own_connect_has_it_at_the_first_request
    http = session(tap_server, OwnConnect)
    refute nodelay?(http)
    http.request(post("/", "x"))
    assert nodelay?(http)
  end

  def test_a_unix_socket_works_without_it
    Dir.mktmpdir do |folder|
      path = File.join(folder, "socket")
      server = UNIXServer.new(path)
      tap_server(listen: server)
      http = UnixConnect.new("localhost", 80)
      http.path = path
      assert_equal "200", http.start { http.request(post("/", "x")) }.code
    end
  end

  def test_a_subclass_that_sets_the_option_after_super_wins
    http = session(tap_server, Kinds::NagleHTTP)
    http.request(post("/", "x"))
    refute nodelay?(http)
  end

  def test_observing_leaves_the_socket_as_the_library_sets_it
    Onewrite.install(observe: true)
    http = session(tap_server, OwnConnect)
    http.request(post("/", "x"))
    refute nodelay?(http)
  end

  # A Unix socket gets no option of TCP.
  def test_what_is_no_tcp_socket_is_left_alone
    nodelay = Onewrite.const_get(:Wire)::Nodelay
    one, other = UNIXSocket.pair
    assert_equal [nil, nil, nil], [one, StringIO.new, Object.new].map { |io| nodelay.tcp(io) }
  ensure
    [one, other].each(&:close)
  end

  def test_quickack_is_set_after_each_request_and_only_where_it_was_asked_for
    skip "no TCP_QUICKACK" unless Socket.const_defined?(:TCP_QUICKACK)
    set = []
    [false, true].each do |quickack|
      Onewrite.install(quickack: quickack)
      http = session(tap_server)
      socket_of(http).io.define_singleton_method(:setsockopt) { |*args| set << args.drop(1) && super(*args) }
      2.times { http.request(post("/", "x")) }
      assert_equal [[Socket::TCP_QUICKACK, 1]] * (quickack ? 2 : 0), set
    end
  end
end
