# frozen_string_literal: true

require "socket"
require "onewrite/timing/kernel"
require "onewrite/wire/coalesce"

module Onewrite
  module NetHTTP
    # State of one connection, and what the library writes its requests to. An instance variable of the connection's
    # Net::BufferedIO holds it, the only one that the gem sets on an object of the library: so it ends with the connection, and
    # every method that gets the socket can reach it.
    class Connection < Wire::HeldSocket
      IVAR = :@onewrite_connection
      # recv_nonblock takes a buffer and `exception: false` from Ruby 2.3 on.
      PEEKS = RUBY_ENGINE == "ruby" && RUBY_VERSION >= "2.3"
      private_constant :PEEKS

      @count = 0

      class << self
        # @param socket [Net::BufferedIO, nil] of a session that is finished
        def release(socket)
          socket.__send__(:remove_instance_variable, IVAR) if socket && socket.instance_variable_defined?(IVAR)
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
      # @return [Integer] requests begun on it
      attr_accessor :requests
      # @return [Timing, nil] of the `start` that opened it, until the first request
      attr_accessor :opening
      # @return [Integer, nil] when the last timed exchange ended
      attr_accessor :idle_since
      # @return [IO, Object, nil] the TCP socket under TLS and buffer, or the library's io where that has no to_io
      attr_reader :tcp
      # @return [Net::BufferedIO] the socket that holds this object
      attr_reader :socket

      def initialize(socket)
        super
        @tcp = @io.respond_to?(:to_io) ? @io.to_io : @io
        @peeks = PEEKS && @plain
        @peeked = String.new("")
        @requests = 0
        @id = Connection.next_id
        @opening = @idle_since = @counters = @counters_of = nil
        @onewrite_connection = self # for {ResponseHead}, which gets this object or the socket
        socket.instance_variable_set(IVAR, self)
      end

      # Whether a plain socket has nothing to read, neither bytes nor an end. The library's own test of this costs more,
      # because it releases Ruby's global lock. Nothing is read.
      # @raise [SystemCallError] as the library's test does, for a connection that was reset
      def quiet?
        @peeks && @io.recv_nonblock(1, Socket::MSG_PEEK, @peeked, exception: false) == :wait_readable
      rescue IOError # something has read ahead
        false
      end

      # @param request [Integer] the latest whose segments are in the counters
      def read_counters(request)
        @counters_of = request
        @counters = TcpInfo.read(@tcp)
      end
    end
  end
end
