# frozen_string_literal: true

require "io/wait"
require "onewrite/clock"
require "onewrite/counter"
require "onewrite/held_socket"
require "onewrite/tcp_info"

module Onewrite
  # What the adapter knows about one connection. It hangs on the Net::BufferedIO of that connection, so it goes when the
  # connection goes, and is found wherever Net::HTTP hands the socket to.
  class Connection
    IVAR = :@onewrite_connection

    @count = Counter.new

    # @return [Connection, nil] that of *socket*
    if RUBY_VERSION < "3.0"
      # There, with -w, asking for a variable that was never set is warned of.
      def self.of(socket)
        socket.instance_variable_get(IVAR) if socket.instance_variable_defined?(IVAR)
      end
    else
      def self.of(socket)
        socket.instance_variable_get(IVAR)
      end
    end

    def self.next_id
      @count.next
    end

    # @return [Integer] number of the connection in this process
    attr_reader :id
    # @return [Integer] requests begun on it
    attr_reader :requests
    # @return [HeldSocket] what requests are written to
    attr_reader :held
    # @return [Integer, nil] when the last timed exchange ended
    attr_reader :idle_since
    # @return [String, nil] the kernel's counters before the current request, as {TcpInfo.read} gives them
    attr_reader :info
    # @return [IO, Object] the socket itself, under TLS and buffers; whatever the library was given where that has no to_io
    attr_reader :io
    # @return [Net::BufferedIO] the socket it hangs on
    attr_reader :socket
    # @return [Call, nil] the timed call under way
    attr_accessor :call
    # @return [Boolean] whether `exec` is at work
    attr_accessor :sending
    # @return [Boolean] whether the body of the last request was not sent to its end
    attr_accessor :unsent

    def initialize(socket)
      @socket = socket
      io = socket.io
      @io = io.respond_to?(:to_io) ? io.to_io : io
      @own = HeldSocket.socket?(io)
      @id = Connection.next_id
      @requests = 0
      @held = HeldSocket.new(socket, self)
      @call = @info = @info_of = @idle_since = nil
      @unsent = @sending = false
      @probe = String.new(capacity: 16)
      socket.instance_variable_set(IVAR, self)
    end

    # A request begins.
    def begin_request
      @requests += 1
      @call = nil
      @unsent = false
    end

    # The request that has begun is timed.
    def timed(call)
      @call = call
      # The counters of the last look are those of now if the request before this one was looked at.
      @info = TcpInfo.read(io) unless @info && @info_of == @requests - 1
    end

    # Reads from the socket unless bytes are there already. What goes wrong is what would go wrong a moment later.
    def first_byte
      @held.flush
      buffer = @socket.instance_variable_get(:@rbuf)
      @socket.__send__(:rbuf_fill) if buffer && !unread?(@socket, buffer)
    end

    # @return [String, nil] the counters at the first line of the response; kept for the next request
    def look
      @info_of = @requests
      @info = TcpInfo.read(io)
    end

    def rest(now)
      @idle_since = now
      @call = nil
    end

    # Whether a body was sent in part (and its sender is gone, as a Fiber may be), or bytes came in that nobody asked
    # for: the rest of an answer, or a second one (RFC 9112 §9.2). Net::HTTP would give them to the next caller as its
    # answer. Reading is right here: such a connection is closed at once, and a TLS session ticket, which is no answer,
    # gets taken out of the way.
    def spoiled?
      return @unsent if @unsent || @requests.zero?

      socket = @socket
      buffer = socket.instance_variable_get(:@rbuf)
      return true if buffer && unread?(socket, buffer)

      return foreign_spoiled? unless @own

      socket.io.read_nonblock(1, @probe, exception: false) != :wait_readable
    rescue SystemCallError, IOError
      true
    rescue StandardError => e
      raise unless defined?(OpenSSL::SSL::SSLError) && e.is_a?(OpenSSL::SSL::SSLError)

      true
    end

    private

    # What is no socket of Ruby's may wait when it is read: the one under it is asked whether something came in.
    def foreign_spoiled?
      @io.is_a?(IO) && !@io.wait_readable(0).nil?
    end

    # net-protocol from 0.2.1 leaves what was read in the buffer and counts an offset.
    def unread?(socket, buffer)
      return false if buffer.empty?

      !socket.instance_variable_defined?(:@rbuf_offset) || buffer.bytesize > socket.instance_variable_get(:@rbuf_offset)
    end
  end
end
