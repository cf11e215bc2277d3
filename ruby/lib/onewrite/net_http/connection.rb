# frozen_string_literal: true

require "io/wait"
require "onewrite/counter"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"
require "onewrite/wire/quickack"

module Onewrite
  module NetHTTP
    # State of one connection. An instance variable of the connection's Net::BufferedIO holds it: so it ends with the
    # connection, and every method that gets the socket can reach it.
    class Connection
      IVAR = :@onewrite_connection

      # When the answer comes sooner than this after the last write, nothing can have been retransmitted or held.
      SOON_NS = 1_000_000
      private_constant :SOON_NS

      @count = Counter.new

      # @return [Connection, nil] that of *socket*
      if RUBY_VERSION < "3.0"
        # Before Ruby 3.0, -w warns about a variable that was never set.
        def self.of(socket)
          socket.instance_variable_get(IVAR) if socket.instance_variable_defined?(IVAR)
        end
      else
        def self.of(socket)
          socket.instance_variable_get(IVAR)
        end
      end

      # From net-protocol 0.2.1 on, bytes that were read stay in the buffer, before an offset.
      # @param socket [Net::BufferedIO]
      # @return [Boolean] whether its buffer has bytes that were not read
      def self.unread?(socket)
        buffer = socket.instance_variable_defined?(:@rbuf) && socket.instance_variable_get(:@rbuf)
        return false if !buffer || buffer.empty?

        !socket.instance_variable_defined?(:@rbuf_offset) || buffer.bytesize > socket.instance_variable_get(:@rbuf_offset)
      end

      def self.next_id
        @count.next
      end

      # @return [Integer] requests begun on it
      attr_reader :requests
      # @return [IO, Object, nil] the TCP socket under TLS and buffer, or the library's io where that has no to_io
      attr_reader :io
      # @return [Net::BufferedIO] the socket that holds this object
      attr_reader :socket
      # @return [Call, nil] the timed call under way
      attr_accessor :call
      # @return [Integer, nil] when the last timed exchange ended
      attr_writer :idle_since
      # @return [Boolean] whether the body of the last request was not sent to its end
      attr_reader :unsent

      def initialize(socket)
        @socket = socket
        io = Wire::HeldSocket.io_of(socket)
        @io = io.respond_to?(:to_io) ? io.to_io : io
        @own = Wire::HeldSocket.socket?(io)
        @id = Connection.next_id
        @requests = 0
        @held = Wire::HeldSocket.new(socket, self)
        @call = @counters = @counters_of = @idle_since = @watch = nil
        @unsent = false
        @probe = String.new("")
        socket.instance_variable_set(IVAR, self)
      end

      # A request begins.
      # @param call [Call, nil] where it is timed
      def begin_request(call)
        @requests += 1
        @call = call
        @unsent = false
        return unless call

        Hooks.became(@watch, :active) if @watch
        @counters_hold_until = 0
        # Counters that were read for the previous request are still those of now.
        @counters = TcpInfo.read(@io) unless @counters && @counters_of == @requests - 1
        call.acquire(@id, @requests, @idle_since, @counters)
      end

      # Writes the request that has begun. While its body is not sent to the end, the connection is {#unsent}.
      # @param settings [Config]
      # @param announced [Integer, nil] Content-Length of a body that is read from a source
      # @param waits [Symbol, nil] see {Wire::HeldSocket#write_request}
      # @yieldparam held [Wire::HeldSocket] what the library writes the request to
      def write_request(settings, announced, waits, &block)
        @unsent = true
        call = @call
        begin
          @held.write_request(settings.join_max, announced, waits, call, &block)
        rescue Errno::EPIPE
          call.sent(self) if call # Net::HTTP goes on to read the answer
          raise
        end
        @unsent = false
        call.sent(self) if call
        Wire::Quickack.ask(@io) if settings.quickack
      end

      # Keeps the error that ends an attempt of *request*, whose body cannot be read again for a repetition.
      # @param request [Net::HTTPGenericRequest]
      def note_error_for(request)
        @socket.extend(NotesError).onewrite_request = request
      end

      # Reports the new connection to whoever counts connections (see {Hooks.watch}).
      # @param origin [String] such as http://127.0.0.1:80
      def watched(origin)
        @watch = Hooks.opened(self, origin)
      end

      # Reports the connection as idle or closed. Called when a timed request has ended or the socket may have been closed.
      def settle
        Hooks.became(@watch, @socket.closed? ? :closed : :idle) if @watch
      end

      # Reads the kernel's counters after a request was sent. An answer that comes soon needs no second reading.
      # @param now [Integer] when the last write of the timed request returned
      # @return [String, nil] nil where the kernel has not sent everything yet
      def counters_when_sent(now)
        return unless @counters && (counters = TcpInfo.read_sent(@io))

        @counters_hold_until = now + SOON_NS
        @counters_of = @requests
        @counters = counters
      end

      # Waits for the first byte of the answer, unless it is buffered already. Errors are those that the library's own read
      # would raise next.
      # @param sock [Net::BufferedIO, Wire::HeldSocket] that the library reads from
      # @return [Integer] the moment
      def first_byte(sock)
        socket = @socket
        @held.flush unless sock.equal?(socket)
        socket.__send__(:rbuf_fill) unless !socket.instance_variable_defined?(:@rbuf) || Connection.unread?(socket)
        now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
        counters_when_answered(now) if now >= @counters_hold_until
        now
      end

      # Whether the connection must not be reused: a body was sent in part (by a Fiber that was given up, say), or unrequested
      # bytes came in, as the rest of an answer or a second one (RFC 9112 §9.2). Net::HTTP would take them for the answer to
      # the next request. The check may read, because a connection with data on it is closed; over TLS the read also
      # processes session tickets, which are no answer.
      def spoiled?
        return @unsent if @unsent || @requests.zero?

        socket = @socket
        return true if Connection.unread?(socket)

        return foreign_spoiled? unless @own

        socket.io.read_nonblock(1, @probe, exception: false) != :wait_readable
      rescue SystemCallError, IOError
        true
      rescue StandardError => e
        raise unless defined?(OpenSSL::SSL::SSLError) && e.is_a?(OpenSSL::SSL::SSLError)

        true
      end

      # Extends the socket of a request whose body is a stream. Net::HTTP closes the socket between an error and the
      # repetition, and `$!` is that error then.
      module NotesError
        attr_writer :onewrite_request

        def close
          request = @onewrite_request
          @onewrite_request = nil
          request.onewrite_lost ||= $! if request # rubocop:disable Style/SpecialGlobalVars
          super
        end
      end
      private_constant :NotesError

      private

      # Reads the counters at the first byte of the answer, and TCP_NODELAY if the wait was long.
      def counters_when_answered(now)
        if @counters
          @counters_of = @requests
          @counters = TcpInfo.read(@io)
        end
        @call.nodelay = Wire::Nodelay.on?(@io) if @call.answered(now, @counters)
      end

      # Reading an io that is not a real socket might block, so the file descriptor under it is polled.
      def foreign_spoiled?
        @io.is_a?(IO) && !@io.wait_readable(0).nil?
      end
    end
  end
end
