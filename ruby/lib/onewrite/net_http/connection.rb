# frozen_string_literal: true

require "socket"
require "onewrite/timing/kernel"
require "onewrite/timing/record"
require "onewrite/wire/coalesce"

module Onewrite
  module NetHTTP
    # State of one connection, and what the library writes its requests to. An instance variable of the connection's
    # Net::BufferedIO holds it, the only one that the gem sets on an object of the library: so it ends with the connection, and
    # every method that gets the socket can reach it.
    class Connection < Wire::HeldSocket
      IVAR = :@onewrite_connection

      @count = 0

      class << self
        # @param socket [Net::BufferedIO, Connection, Object, nil] what the library writes to or reads from. An object that
        #   stands in for a Net::BufferedIO has no connection.
        # @return [Connection, nil]
        def of(socket)
          return socket.instance_variable_get(IVAR) if Net::BufferedIO === socket

          socket if Connection === socket # the library waits for 100 (Continue)
        end

        # @return [Integer, nil] nil in a Ractor, where no hook is called that could want it
        def next_id
          @count += 1
        rescue Ractor::IsolationError
          nil
        end
      end

      # @return [Integer] its number in this process
      attr_reader :id
      # The kernel's counters when they were last read, and the request after which that was.
      attr_reader :counters, :counters_of
      # What its calls have in common: origin and anchor as {Timing} takes them. The anchor is anew for each connection, because
      # the wall clock may be set.
      attr_reader :common
      # @return [Integer] requests begun on it
      attr_accessor :requests
      # @return [Timing, nil] of the `start` that opened it, until the first request
      attr_accessor :opening
      # @return [Integer, nil] when the last timed exchange ended
      attr_accessor :idle_since
      # @return [IO, Object, nil] the TCP socket under TLS and buffer, or the library's io where that has no to_io
      attr_reader :tcp
      # @return [Net::BufferedIO]
      attr_reader :socket

      def initialize(socket, origin)
        super(socket)
        @common = [origin, Clock.anchor].freeze
        @tcp = Object === @io && @io.respond_to?(:to_io) ? @io.to_io : @io
        @requests = 0
        @id = Connection.next_id
        @opening = @idle_since = @counters = @counters_of = @reads_ahead = nil
        socket.instance_variable_set(IVAR, self)
      end

      # Takes this object away from its socket.
      def release
        @socket.__send__(:remove_instance_variable, IVAR)
      rescue NameError
        nil # another thread finishes the session, too
      end

      # @return [Boolean] whether the library's own methods read a line, so that its first bytes may be read before
      def reads_ahead?
        if @reads_ahead.nil?
          @reads_ahead = %i[readline readuntil].all? { |name| in?(LIBRARY, @socket.method(name)) } &&
                         !@socket.instance_variable_get(:@rbuf).nil?
        end
        @reads_ahead && @socket.singleton_methods(false).empty?
      end

      # @param request [Integer] the latest whose segments are in the counters
      def read_counters(request)
        @counters_of = request
        @counters = TcpInfo.read(@tcp)
      end
    end
  end
end
