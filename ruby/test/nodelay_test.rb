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

  def test_the_option_of_a_session_is_obeyed
    refute nodelay?(session(tap_server) { |one| one.onewrite_nodelay = false })
    Onewrite.configure(nodelay_disabled: true)
    http = session(tap_server, OwnConnect) { |one| one.onewrite_nodelay = true }
    http.request(post("/", "x"))
    assert nodelay?(http)
  end

  [:nodelay_disabled, :observe].each do |option|
    define_method("test_#{option} leaves the socket as the library sets it") do
      Onewrite.configure(option => true)
      http = session(tap_server, OwnConnect)
      http.onewrite_nodelay = true if option == :observe
      http.request(post("/", "x"))
      refute nodelay?(http)
    end
  end
end
