# frozen_string_literal: true

require "io/wait"
require "onewrite/counter"
require "onewrite/timing/clock"
require "onewrite/timing/kernel"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # What the adapter knows about one connection. It hangs on the Net::BufferedIO of that connection, so it goes when the
    # connection goes, and is found wherever Net::HTTP hands the socket to.
    class Connection
      IVAR = :@onewrite_connection

      # An answer that comes sooner after the last write leaves the kernel no time to send anything again.
      SOON_NS = 1_000_000
      private_constant :SOON_NS

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

      # @return [Integer] requests begun on it
      attr_reader :requests
      # @return [HeldSocket] what requests are written to
      attr_reader :held
      # @return [IO, Object] the socket itself, under TLS and buffers; whatever the library was given where that has no to_io
      attr_reader :io
      # @return [Net::BufferedIO] the socket it hangs on
      attr_reader :socket
      # @return [Call, nil] the timed call under way
      attr_accessor :call
      # @return [Integer, nil] when the last timed exchange ended
      attr_writer :idle_since
      # @return [Boolean] whether the body of the last request was not sent to its end
      attr_accessor :unsent

      def initialize(socket)
        @socket = socket
        io = HeldSocket.io_of(socket)
        @io = io.respond_to?(:to_io) ? io.to_io : io
        @own = HeldSocket.socket?(io)
        @id = Connection.next_id
        @requests = 0
        @held = HeldSocket.new(socket, self)
        @call = @info = @info_of = @idle_since = nil
        @unsent = false
        @probe = String.new(capacity: 16)
        socket.instance_variable_set(IVAR, self)
      end

      # A request begins.
      # @param call [Call, nil] where it is timed
      def begin_request(call)
        @requests += 1
        @call = call
        @unsent = false
        return unless call

        @look_again = 0
        # The counters of the last look are those of now if the request before this one was looked at.
        @info = TcpInfo.read(@io) unless @info && @info_of == @requests - 1
        call.acquire(@id, @requests, @idle_since, @info)
      end

      # @param now [Integer] when the last write of the timed request returned
      # @return [String, nil] the kernel's counters after it; nil where it has not sent everything yet
      def look_sent(now)
        return unless @info && (info = TcpInfo.read_sent(@io))

        @look_again = now + SOON_NS
        @info_of = @requests
        @info = info
      end

      # Waits for a byte to be read, unless one is there already. What goes wrong is what would go wrong a moment later.
      # @param sock [Net::BufferedIO, HeldSocket] who asks
      # @return [Integer] the moment
      def first_byte(sock)
        socket = @socket
        @held.flush unless sock.equal?(socket)
        buffer = socket.instance_variable_get(:@rbuf)
        socket.__send__(:rbuf_fill) if buffer && (buffer.empty? || !unread?(socket, buffer))
        now = Clock.now
        look(now) if now >= @look_again
        now
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

      def look(now)
        if @info
          @info_of = @requests
          @info = TcpInfo.read(@io)
        end
        @call.nodelay = Nodelay.on?(@io) if @call.look(now, @info)
      end

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
end
