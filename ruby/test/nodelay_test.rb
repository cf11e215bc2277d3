# frozen_string_literal: true

require_relative "../driver/kinds"
require_relative "support/helper"

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

  def test_it_is_on
    [false, true].each { |tls| assert nodelay?(session(tap_server(tls: tls))) }
  end

  def test_a_subclass_with_its_own_connect_has_it_at_the_first_request
    http = session(tap_server, OwnConnect)
    refute nodelay?(http)
    http.request(post("/", "x"))
    assert nodelay?(http)
  end

  def test_it_is_on_after_a_reconnect
    tap = tap_server { |_, socket| socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") && :close }
    http = session(tap, OwnConnect)
    2.times { http.request(post("/", "x")) }
    assert_equal 2, tap.connections
    assert_equal 0, Onewrite.status[:nodelay_failures]
  end

  def test_a_unix_socket_works_without_it
    Dir.mktmpdir do |folder|
      path = File.join(folder, "socket")
      server = UNIXServer.new(path)
      tap_server(listen: server)
      http = UnixConnect.new("localhost", 80)
      http.path = path
      assert_equal "200", http.start { http.request(post("/", "x")) }.code
      assert_equal 0, Onewrite.status[:nodelay_failures]
    end
  end

  def test_a_subclass_that_sets_the_option_after_super_wins
    http = session(tap_server, Kinds::NagleHTTP)
    http.request(post("/", "x"))
    refute nodelay?(http)
  end

  def test_the_option_of_a_session_is_obeyed
    refute nodelay?(session(tap_server) { |one| one.onewrite_nodelay = false })
    Onewrite.configure(nodelay_disabled: true)
    http = session(tap_server, OwnConnect) { |one| one.onewrite_nodelay = true }
    http.request(post("/", "x"))
    assert nodelay?(http)
  end

  def test_nodelay_disabled_leaves_the_option_as_the_library_sets_it
    Onewrite.configure(nodelay_disabled: true)
    http = session(tap_server, OwnConnect)
    http.request(post("/", "x"))
    refute nodelay?(http)
  end

  # A server with Nagle on that writes its response in two pieces waits for our acknowledgement; QUICKACK sends it at once.
  def test_quickack_cures_a_split_answer
    tap = tap_server do |_, socket|
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 0)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
      socket.write("ok")
    end
    http = session(tap)
    times = { false => [], true => [] }
    20.times do
      times.each do |quickack, taken|
        Onewrite.configure(quickack: quickack)
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        http.request(post("/", "x"))
        taken << (Process.clock_gettime(Process::CLOCK_MONOTONIC) - started)
      end
    end
    without = times[false].sort[10]
    skip "this machine does not delay acknowledgements" if without < 0.03
    # Without the option each request waits 40 ms; with it at least some are prompt, even on a busy machine.
    assert_operator times[true].sort[2], :<, without / 2
  end
end
