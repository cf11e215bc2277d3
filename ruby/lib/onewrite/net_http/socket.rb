# frozen_string_literal: true

require "net/protocol"
require "onewrite/wire/nodelay"

module Onewrite
  # The patches of Net::HTTP.
  module NetHTTP
    # The library's class. WebMock replaces its constant by a subclass.
    BufferedIO = Net::BufferedIO.ancestors.grep(Class).take_while { |one| one != Object }.last
    private_constant :BufferedIO

    # The Net::BufferedIO of one connection. It takes the place of the library's own object when the connection opens, and
    # holds the adapter's state of the connection, so all of it ends with the connection.
    #
    # It differs from Net::BufferedIO in `write`, and only while a request is written: there it joins head and body. What is
    # joined goes through the library's `write`, so write_timeout holds, and a method that a gem puts over `write` or over the
    # io gets every byte. With debug_output nothing is joined, so that the log has the library's entries.
    #
    # The file is kept to the syntax of Ruby 1.9 ({Legacy}).
    class Socket < BufferedIO
      EMPTY = "".freeze
      FIRST = 4096
      CHUNK_END = "\r\n".freeze
      SIZE_LINE = /\A\h{1,16}\r\n\z/.freeze
      # Before Ruby 2.6 a chunk is three writes: size line, data, CRLF.
      PIECES = instance_method(:write).arity == 1
      private_constant :EMPTY, :FIRST, :CHUNK_END, :SIZE_LINE, :PIECES

      @count = 0

      class << self
        # @param socket [Net::BufferedIO] of exactly that class, not used any more
        # @return [Socket] with its variables
        def take_over(socket)
          made = allocate
          socket.instance_variables.each { |name| made.instance_variable_set(name, socket.instance_variable_get(name)) }
          made.__send__(:onewrite_initialize)
          made
        end

        # Whether *socket* is exactly the library's class, without singleton methods. A frozen one stays, because a copy would
        # not be frozen.
        def takes?(socket)
          socket.instance_of?(superclass) && socket.singleton_methods.empty? && !socket.frozen?
        end

        # @return [Integer, nil] nil in a Ractor, where no hook is called
        def next_id
          @count += 1
        rescue StandardError # Ractor::IsolationError
          nil
        end
      end

      # @return [Integer] its number in this process
      attr_reader :onewrite_id
      # @return [BasicSocket, nil] the TCP socket under TLS and buffer
      attr_reader :onewrite_tcp
      # @return [Boolean] whether a request is written in part
      attr_reader :onewrite_sending
      # @return [String] what was read; from net-protocol 0.2.1 on, what was taken from it stays there, before an offset
      attr_reader :rbuf
      # @return [Integer, nil]
      attr_reader :rbuf_offset
      # @return [Integer] bytes and writes of the last request
      attr_reader :onewrite_bytes, :onewrite_writes
      # @return [Integer] requests begun
      attr_accessor :onewrite_requests
      # @return [Timing, nil] call under way
      attr_accessor :onewrite_call
      # @return [Timing, nil] of the `start` that opened the connection, until the first request
      attr_accessor :onewrite_opening
      # @return [Integer, nil] end of the last timed call
      attr_accessor :onewrite_idle_since
      # @return [Array, nil] origin, wall clock and proxy of its timed calls
      attr_accessor :onewrite_common
      # @return [Array, nil] the kernel's counters when they were last read, and the number of the request before
      attr_accessor :onewrite_counters
      # @return [Boolean] whether the library's own `connect` opened it
      attr_accessor :onewrite_by_library
      # @return [Boolean] whether its last request was given up
      attr_accessor :onewrite_given_up

      # Writes one request in the block.
      # @param limit [Integer] most bytes to join; 0 joins nothing
      # @param chunks [Boolean] whether the parts of a chunk are one write; false also for a body of one String
      def onewrite_send(limit, chunks)
        @onewrite_limit = limit
        @onewrite_held = limit > 0 && !@debug_output ? EMPTY : nil
        @onewrite_chunks = chunks && !@debug_output
        @onewrite_bytes = @onewrite_writes = 0
        @onewrite_sending = true
        result = yield
        if (held = @onewrite_held)
          @onewrite_held = nil
          onewrite_put(held) unless held.empty?
        end
        result
      rescue StandardError
        onewrite_flush_after_error
        raise
      ensure
        @onewrite_held = nil # no byte is left for the next request
        @onewrite_sending = false # unless a Fiber is never resumed
      end

      # Writes one String now. Its `super` is the library's `write`, under its second name too.
      def write(str)
        (call = @onewrite_call) && call.sending if @onewrite_writes == 0
        @onewrite_writes += 1
        size = super(str)
        @onewrite_bytes += size if size.is_a?(Integer)
        size
      end
      alias onewrite_put write

      # Keeps a copy, because the program or the library may change the String. A dup will not do: IO.copy_stream reads into a
      # String without giving up what others share with it.
      def write(*strs) # rubocop:disable Metrics, Lint/DuplicateMethods -- each method call costs; the one above has its second name
        return super unless @onewrite_sending

        held = @onewrite_held
        if @onewrite_chunks && (strs.size > 1 || (PIECES && !held))
          strs = onewrite_chunk(strs)
          return strs if strs.is_a?(Integer)
        end
        if held
          str = strs[0]
          exact = strs.size == 1 && str.instance_of?(String)
          if exact && held.bytesize + str.bytesize <= @onewrite_limit
            joined = Encoding.compatible?(held, str) ? held + str : [held, str].pack("a*a*")
            last = !@onewrite_chunks && !held.empty? # the body is one String
            @onewrite_held = last ? nil : joined
            return str.bytesize unless last

            strs = [joined]
          elsif exact && !held.empty?
            return onewrite_write_first(held, str)
          else
            onewrite_flush
            @onewrite_held = nil
          end
        end
        (call = @onewrite_call) && call.sending if @onewrite_writes == 0
        @onewrite_writes += 1
        size = super(*strs)
        @onewrite_bytes += size if size.is_a?(Integer)
        joined ? str.bytesize : size
      end
      alias << write
      private :onewrite_put

      # Whoever takes the io may write to it or wait for it.
      def io
        onewrite_flush if @onewrite_held
        super
      end

      private

      def onewrite_initialize
        @rbuf = @rbuf.dup # a copy of the session may still use the library's object
        @onewrite_tcp = Wire::Nodelay.tcp(@io)
        @onewrite_id = Socket.next_id
        @onewrite_requests = @onewrite_bytes = @onewrite_writes = @onewrite_limit = 0
        @onewrite_sending = @onewrite_given_up = @onewrite_chunks = @onewrite_by_library = false
        @onewrite_held = @onewrite_call = @onewrite_opening = @onewrite_idle_since = @onewrite_common = @onewrite_counters = nil
      end

      # Writes what is held.
      def onewrite_flush
        held = @onewrite_held
        @onewrite_held = nil
        onewrite_put(held) unless held.empty?
        @onewrite_held = EMPTY
      end

      # More than the limit: what is held leaves with the first bytes of the String, over TLS with as many as fill a record.
      # They are copied, so elsewhere they are few.
      def onewrite_write_first(held, str)
        @onewrite_held = nil
        first = @onewrite_limit - held.bytesize
        first = FIRST if first > FIRST && @io.equal?(@onewrite_tcp)
        size = str.bytesize
        onewrite_put([held, str].pack("a*a#{first}"))
        onewrite_put(str.byteslice(first, size - first))
        size
      end

      # Size line, data and CRLF are one write.
      # @return [Array<String>, Integer] what to write now, or the size of what is kept for the rest of the chunk
      def onewrite_chunk(strs)
        return [strs.pack("a*" * strs.size)] if strs.size > 1 && strs.all? { |str| str.instance_of?(String) }
        return strs unless PIECES && (str = strs[0]).instance_of?(String)

        before = @onewrite_chunks
        return strs unless before.is_a?(String) || SIZE_LINE =~ [str].pack("a*")

        before = before.is_a?(String) ? before : EMPTY
        chunk = [before, str].pack("a*a*")
        @onewrite_chunks = before.empty? || str != CHUNK_END ? chunk : true
        @onewrite_chunks == true ? [chunk] : str.bytesize
      end

      # The library has sent the bytes held when a source of the body fails. Its error is the one to raise.
      def onewrite_flush_after_error
        onewrite_flush if @onewrite_held
      rescue SystemCallError, IOError, Timeout::Error
        nil
      end
    end
  end
end
