# frozen_string_literal: true

require "net/protocol"
require "socket"

module Onewrite
  module Wire
    # Replaces the Net::BufferedIO while Net::HTTP writes a request. It holds what is written and passes it on in one write.
    # Any other method call is passed on to the socket after held bytes have been written. There is one per connection.
    #
    # A write is tried once, without blocking. Net::BufferedIO#write writes what the kernel did not take, so write_timeout and
    # debug_output work as without the gem. Where another gem has replaced a method that the library's write uses, to count or
    # log bytes, everything goes there.
    #
    # A body that is no String, or whose `bytesize` is not its size, and a large one of a subclass of String, go to
    # Net::BufferedIO as they are. No other method of a body is called, because a subclass may define it anew.
    class HeldSocket
      CHUNK_END = "\r\n".freeze
      SIZE_LINE = /\A\h{1,16}\r\n\z/.freeze
      # The files that define Net::BufferedIO and BasicSocket. They also define these methods, which nobody patches. A method
      # that is not written in Ruby has no file.
      LIBRARY = [Net::WriteAdapter.instance_method(:initialize).source_location.first.dup.freeze].freeze
      SOCKETS = [nil, *(Socket.method(:tcp).source_location.to_a.first if Socket.respond_to?(:tcp))].freeze
      # write_nonblock takes `exception: false` from Ruby 2.1 on.
      NONBLOCK = RUBY_VERSION >= "2.1"
      # The flag that keeps bytes in the kernel until the next write. sendmsg_nonblock takes `exception: false` from Ruby 2.3 on.
      MORE = (Socket::MSG_MORE if RUBY_ENGINE == "ruby" && RUBY_VERSION >= "2.3" && Socket.const_defined?(:MSG_MORE))
      private_constant :CHUNK_END, :SIZE_LINE, :LIBRARY, :SOCKETS, :NONBLOCK, :MORE

      # @return [Boolean] whether a request is written in part
      attr_reader :unsent
      # @return [#writing, nil] counts the writes
      attr_accessor :call

      def initialize(socket)
        @socket = socket
        @io = socket.io
        @plain = BasicSocket === @io
        @held = @call = @waits = @untouched = @direct = nil
        @unsent = @in_chunk = false
        @limit = 0
      end

      # Yields to write one request to this object, and writes what is left over.
      # @param limit [Integer] largest number of bytes to join; 0 joins nothing
      # @param waits [Symbol, nil] for a body that may block: :chunk joins the three parts of a chunk, :piece joins nothing;
      #   nil for a body that cannot block
      def write_request(limit, waits)
        @limit = limit
        @waits = waits
        @unsent = true
        @untouched = untouched? if @untouched.nil?
        @direct = @untouched && !@socket.debug_output && @socket.io.equal?(@io) && @socket.singleton_methods(false).empty?
        yield
        flush
      rescue StandardError
        flush_after_error
        raise
      ensure
        @held = nil # no byte is left for the next request
        @in_chunk = @unsent = false # unless a Fiber is never resumed
      end

      def write(str, *more)
        return pass_on(str, *more) if @limit == 0

        size = hold(str)
        more.each { |part| size += hold(part) } unless more.empty?
        flush if @waits && !(@waits == :chunk && more.empty? && within_chunk?(str))
        size
      end
      alias << write

      # Writes what is held.
      def flush
        str = @held
        return unless str

        @held = nil
        put(str)
      end

      # Net::HTTP calls this before it writes a body, so it does not flush.
      def continue_timeout
        @socket.continue_timeout
      end

      # Ruby 2.0 to 3.0 copy streams to `sock.io`, which bypasses Net::BufferedIO; this object brings those writes back here.
      def io
        HeldIO.new(self, @socket)
      end

      def respond_to_missing?(name, include_all = false)
        @socket.respond_to?(name, include_all)
      end

      def method_missing(name, *args, &block)
        return super unless @socket.respond_to?(name)

        flush
        @socket.public_send(name, *args, &block)
      end

      private

      # Before Ruby 2.6 a chunk is three writes (size line, data, CRLF), with no code of the program between them.
      def within_chunk?(str)
        @in_chunk = @in_chunk ? str != CHUNK_END : !(SIZE_LINE =~ str).nil?
      end

      # Keeps a copy, because the program or the library may change the String. A dup will not do: IO.copy_stream reads into a
      # String without giving up what others share with it.
      def hold(str)
        # The object may define is_a?, and a subclass of String may give any `bytesize`.
        return write_behind(str) unless String === str && Integer === (size = str.bytesize)

        held = @held
        total = held ? held.bytesize + size : size
        return write_large(str, size) if total > @limit

        joined = held ? [held, str].pack("a*a*") : [str].pack("a*") # of any encodings
        return write_behind(str) unless joined.bytesize == total

        @held = joined unless total == 0
        size
      end

      # Writes held bytes and a String that is not joined with them, without a copy of it.
      def write_large(str, size)
        held = @held
        body = String.new(str) if held && str.instance_of?(String)
        return write_behind(str) unless body && body.bytesize == size

        if MORE && @plain && @direct && @io.singleton_methods(false).empty?
          @held = nil
          put(held, MORE)
          return put(body)
        end
        cut = @limit - held.bytesize
        @held = [held, body.byteslice(0, cut)].pack("a*a*")
        flush
        cut + put(body.byteslice(cut, size - cut))
      end

      def write_behind(str)
        flush
        pass_on(str)
      end

      # Writes without blocking. What the kernel does not take goes through the library, which waits with write_timeout; so
      # does all when debug_output is set.
      # @param more [Integer, nil] a flag: the kernel keeps the bytes for the next write
      def put(str, more = nil)
        size = str.bytesize
        @call.writing(size) if @call
        if @direct
          written = more ? send_more(str, more) : @io.write_nonblock(str, exception: false)
          return size if written == size

          str = str.byteslice(written, size - written) if written.is_a?(Integer)
        end
        @socket.write(str)
        size
      end

      # Raises what write_nonblock raises, whose message does not name a system call.
      def send_more(str, flag)
        @io.sendmsg_nonblock(str, flag, exception: false)
      rescue SystemCallError => e
        raise e.class.new, cause: e.cause
      end

      # True if a write may bypass Net::BufferedIO: only to a real socket, plain or TLS, and only while no other gem has replaced
      # a method that the library's write uses. An alias chain keeps a method's owner, so its place is compared.
      def untouched?
        NONBLOCK && [:write, :writing, :write0].all? { |name| in?(LIBRARY, @socket.method(name)) } &&
          if @plain
            in?(SOCKETS, @io.method(:write_nonblock))
          else
            defined?(OpenSSL::SSL::SSLSocket) && OpenSSL::SSL::SSLSocket === @io
          end
      end

      def in?(files, method)
        files.include?(method.source_location.to_a.first)
      end

      # The library's write of what the program gave. As each write, it returns the number of bytes.
      def pass_on(*strs)
        strs.each { |str| @call.writing((size = str.bytesize).is_a?(Integer) ? size : 0) } if @call
        @socket.write(*strs)
      end

      # The library has sent the bytes held when a source of the body fails. Its error is the one to raise.
      def flush_after_error
        flush
      rescue SystemCallError, IOError, Timeout::Error
        nil
      end
    end

    # What {HeldSocket#io} returns. Writes go to the held socket; every other method goes to the io after held bytes have been
    # written. IO.select and wait_readable call to_io.
    class HeldIO < BasicObject
      def initialize(held, socket)
        @held = held
        @socket = socket
      end

      def write(*strs)
        @held.write(*strs)
      end

      def to_io
        @held.flush
        @socket.io.to_io
      end

      def respond_to?(name, include_all = false)
        # IO.copy_stream must neither open the path nor use the file descriptor.
        name == :write || (name != :to_path && @socket.io.respond_to?(name, include_all))
      end

      def method_missing(name, *args, &block)
        @held.flush
        @socket.io.__send__(name, *args, &block)
      end

      def respond_to_missing?(name, include_all = false)
        @socket.io.respond_to?(name, include_all)
      end
    end
  end
end
