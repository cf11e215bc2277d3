# frozen_string_literal: true

require "onewrite/net_http/response"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/record"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # The Net::BufferedIO of a connection while there is a hook: it notes in a record when it writes and reads. It takes the place
    # of the library's own object and has its variables. It writes and reads as the library does.
    class TimedIO < Wire::BUFFERED_IO
      @count = 0

      class << self
        # Whether *socket* is exactly the library's class, without singleton methods.
        def plain?(socket)
          superclass === socket && socket.instance_of?(superclass) && socket.singleton_methods.empty?
        end

        # @param socket [Net::BufferedIO] not used any more
        # @param origin [String] scheme, host and port
        # @param proxy [String, nil]
        # @param requests [Integer] on the connection, the one that begins included
        # @return [TimedIO]
        def replace(socket, origin, proxy, requests)
          timed = allocate
          socket.instance_variables.each { |name| timed.instance_variable_set(name, socket.instance_variable_get(name)) }
          socket.instance_variable_set(:@onewrite_answer, nil) # a copy of the session may still have it
          timed.__send__(:onewrite_initialize, origin, proxy, requests)
          timed
        end

        # @return [Integer] no other connection of the process has it. A count is no whole step where threads run in parallel.
        def number(connection)
          RUBY_ENGINE == "ruby" ? @count += 1 : connection.object_id
        end
      end

      # @return [String]
      attr_reader :onewrite_origin
      # @return [Record, nil] of the request under way
      attr_accessor :onewrite_record
      # @return [Record, nil] of the `start` that opened the connection, until its first request
      attr_writer :onewrite_opened
      # @return [Array(Integer, Integer), nil] object id of the request that failed here last, and how often it was sent again
      attr_reader :onewrite_failed

      # @param record [Record] of a request that fails; not ended yet
      def onewrite_note_failure(record)
        @onewrite_failed = [record.request.object_id, record.resend || 0]
      end

      # @return [Integer, nil] 1, 2, … for the request that failed here
      def onewrite_resend_of(request)
        id, resend = @onewrite_failed
        resend + 1 if id == request.object_id
      end

      # A request begins. One that is still under way has it in its block, or its Fiber is not resumed.
      # @return [Record, nil] of the `start` that opened the connection for this request
      def onewrite_begin
        onewrite_end(nil) if @onewrite_record
        @onewrite_requests += 1
        opened = @onewrite_opened
        @onewrite_opened = nil
        opened
      end

      # It carries the request from now on.
      # @param idle_since [Float, Time, nil] as the library keeps it: seconds of the monotonic clock, a Time before Ruby 2.3
      # @param new [Boolean] whether it was opened for the request
      def onewrite_carry(record, idle_since, new)
        if (last = @onewrite_asked)
          @onewrite_counters, @onewrite_counted = last
          @onewrite_asked = nil
        end
        @onewrite_counters ||= TcpInfo.read(@onewrite_tcp)
        record.begin_on(@onewrite_id, @onewrite_requests, @onewrite_proxy, new, idle_since)
        @onewrite_record = record
      end

      # The request under way has ended in another way than by `end_transport`.
      # @param error [Exception, nil]
      def onewrite_end(error)
        return unless (record = @onewrite_record)

        @onewrite_record = nil
        return if record.frozen? # it has ended: a limit struck while the connection got it

        onewrite_note_failure(record) if error
        hooks = record.hooks
        answer = @onewrite_answer
        record.abandon(error, answer == :read || (answer != :due && Response.complete?(answer)))
        Hooks.call(hooks, record)
      end

      # The request under way is given up. If the head of its final answer was read, it ends in `reading_body`.
      def onewrite_give_up
        onewrite_end(nil) if @onewrite_record && !@onewrite_record.status
      end

      # The library closes a connection whose request failed. While another thread reads or writes, the error is that thread's.
      def close
        error = $! # rubocop:disable Style/SpecialGlobalVars
        super
      ensure
        onewrite_end(error) if @onewrite_record && (error || !@onewrite_record.in_io)
      end

      def write(*strs)
        record = @onewrite_record
        return super unless record

        record.begin_write
        bytes = super
        record.end_write(bytes, strs.size)
        bytes
      ensure
        record.fail_write if record && !bytes
      end
      alias << write

      # Reads the first line of an answer, and the lines between chunks. An interim answer does not end the wait.
      def readline
        record = @onewrite_record
        return super unless record

        if record.status
          record.end_headers
          return super
        end

        record.awaiting = true
        line = super
        record.read_status(line)
        line
      rescue StandardError
        failed = true # the library closes the connection
        raise
      ensure
        onewrite_give_up if record && !line && !failed
      end

      # Reads a body, or a chunk. Without a destination it is the end of a chunk's line.
      def read(*args)
        record = @onewrite_record if args.size > 1
        return super unless record

        record.begin_body(onewrite_unread)
        super
      ensure
        record.end_body(onewrite_unread) if record
      end

      # Reads a body that ends with the connection.
      def read_all(*args)
        @onewrite_record.begin_body(onewrite_unread) if @onewrite_record
        super
      end

      private

      def onewrite_initialize(origin, proxy, requests)
        @onewrite_origin = origin
        @onewrite_proxy = proxy
        @onewrite_requests = requests
        @onewrite_tcp = Wire::Nodelay.tcp(@io)
        @onewrite_id = TimedIO.number(self)
        @onewrite_counted = requests - 1
        @onewrite_record = @onewrite_opened = @onewrite_failed = @onewrite_counters = @onewrite_asked = nil
        @onewrite_answer = nil unless defined?(@onewrite_answer)
        @rbuf_offset = nil unless defined?(@rbuf_offset)
        @rbuf = @rbuf.dup # a copy of the session may still use the library's object
      end

      # From net-protocol 0.2.1 on, what was taken from the buffer stays there, before an offset.
      def onewrite_unread
        @rbuf.bytesize - (@rbuf_offset || 0)
      end

      # Each read from the kernel.
      def rbuf_fill
        record = @onewrite_record
        return super unless record

        before = record.begin_read ? onewrite_unread : nil
        value = super
        onewrite_ask_kernel(record) if record.end_read(before ? onewrite_unread - before : 0)
        value
      rescue EOFError
        record.end_of_connection if record
        raise
      end

      def onewrite_ask_kernel(record)
        return unless @onewrite_counters && (after = TcpInfo.read(@onewrite_tcp))

        now = record.response_start
        late = Clock.now - now
        wait = now - record.request_end
        nodelay = Wire::Nodelay.on?(@onewrite_tcp) if wait >= KernelEvidence::LONG_NS
        exact = @onewrite_counted == @onewrite_requests - 1
        record.kernel = KernelEvidence.new(@onewrite_counters, after, wait, late, exact, nodelay)
        @onewrite_asked = [after, @onewrite_requests] # for the next request: an interim answer may not be the last of this one
      end
    end
  end
end
