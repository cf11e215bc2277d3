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
      # Most bytes that are joined by a copy: one TLS record.
      MOST = 16_384
      # Bytes of body that leave with the head of a large request where one write of both could wait. It is a power of two,
      # because the kernel copies the rest of the body faster from an aligned address.
      FIRST_OF_BODY = 1024
      CHUNK_END = "\r\n".freeze
      SIZE_LINE = /\A\h{1,16}\r\n\z/.freeze
      # The files that define Net::BufferedIO and BasicSocket. They also define these methods, which nobody patches.
      LIBRARY = Net::WriteAdapter.instance_method(:initialize).source_location.first.dup.freeze
      SOCKETS = (Socket.method(:tcp).source_location.to_a.first if Socket.respond_to?(:tcp))
      # write_nonblock takes `exception: false` from Ruby 2.1 on.
      NONBLOCK = RUBY_VERSION >= "2.1"
      # IO#write makes one writev of several strings from Ruby 2.5 on, in MRI.
      WRITEV = RUBY_ENGINE == "ruby" && RUBY_VERSION >= "2.5" && RUBY_PLATFORM.include?("linux")
      # Limit and use of the send buffer (sock_diag(7), SK_MEMINFO_SNDBUF and SK_MEMINFO_WMEM_QUEUED), Linux 4.12 and later.
      SO_MEMINFO = 55
      SEND_BUFFER = "@12Lx4L".freeze
      SCHEDULED = Fiber.respond_to?(:current_scheduler)
      private_constant :MOST, :FIRST_OF_BODY, :CHUNK_END, :SIZE_LINE, :LIBRARY, :SOCKETS, :NONBLOCK, :WRITEV, :SO_MEMINFO,
                       :SEND_BUFFER, :SCHEDULED

      # @return [Boolean] whether a request is written in part
      attr_reader :unsent
      # @return [#writing, nil] counts the writes
      attr_accessor :call

      def initialize(socket)
        @socket = socket
        @io = socket.io
        @plain = @io.is_a?(BasicSocket)
        @held = @call = @waits = @untouched = @direct = @vector = nil
        @unsent = @first = @in_chunk = false
        @limit = 0
      end

      # Yields to write one request to this object, and writes what is left over.
      # @param limit [Integer] largest number of bytes to join; 0 joins nothing
      # @param waits [Symbol, nil] for a body that may block: :chunk joins the three parts of a chunk, :piece joins nothing;
      #   nil for a body that cannot block
      def write_request(limit, waits)
        @limit = limit
        @waits = waits
        @unsent = @first = true
        @in_chunk = false
        @untouched = untouched? if @untouched.nil?
        @direct = @untouched && !@socket.debug_output && @socket.io.equal?(@io) && @socket.singleton_methods(false).empty?
        yield
        flush
      rescue StandardError
        flush_after_error
        raise
      ensure
        @held = nil # no byte is left for the next request
        @unsent = false # unless a Fiber is never resumed
      end

      def write(str, *more)
        return pass_on(str, *more) if @limit == 0

        size = hold(str)
        more.each { |part| size += hold(part) } unless more.empty?
        flush if @waits && !(@waits == :chunk && more.empty? && within_chunk?(str))
        size
      end
      alias << write

      # Writes what is held. What the kernel does not take goes through the library, which waits with write_timeout; so does all
      # when debug_output is set.
      def flush
        str = @held
        return unless str

        @held = nil
        size = str.bytesize
        @call.writing(size) if @call
        if @direct
          written = @io.write_nonblock(str, exception: false)
          return if written == size

          str = str.byteslice(written, size - written) if written.is_a?(Integer)
        end
        @socket.write(str)
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
      # @return [Integer] bytes
      def hold(str)
        # The object may define is_a?, and a subclass of String may give any `bytesize`.
        return write_large(str, nil) unless String === str && Integer === (size = str.bytesize)

        held = @held
        first = @first
        @first = false
        return write_large(str, size) if size > @limit || (held && held.bytesize + size > @limit)

        # pack joins bytes of any encodings. The head is shared: no other than a method of String changes it.
        joined = [held, str].pack("a*a*") if held
        joined ||= first ? String.new(str) : [str].pack("a*")
        return write_large(str, nil) unless joined.bytesize == (held ? held.bytesize + size : size)

        @held = joined unless joined.empty?
        size
      end

      # Writes held bytes and *str* without a copy of it.
      # @param size [Integer, nil] the `bytesize` of a String
      # @return [Integer] bytes
      def write_large(str, size)
        held = @held
        return pass_on(str) unless held

        body = String.new(str) if size && str.instance_of?(String)
        if body && body.bytesize == size
          return write_both(held, body) if @limit == MOST && at_once?(held.bytesize + size)

          cut = @limit - held.bytesize
          cut = FIRST_OF_BODY if @plain && cut > FIRST_OF_BODY
          return write_cut(held, body, cut) if cut > 0
        end
        flush
        pass_on(str)
      end

      # True if a write may bypass Net::BufferedIO: only to a real socket, plain or TLS, and only while no other gem has replaced
      # a method that the library's write uses. An alias chain keeps a method's owner, so its place is compared.
      def untouched?
        NONBLOCK && (@plain || (defined?(OpenSSL::SSL::SSLSocket) && @io.is_a?(OpenSSL::SSL::SSLSocket))) &&
          [:write, :writing, :write0].all? { |name| @socket.method(name).source_location.to_a.first == LIBRARY }
      end

      # Whether one IO#write of *size* bytes does what write_nonblock does. It has no time limit, so the kernel must take all at
      # once: the send buffer is empty, and its limit counts up to twice the bytes. IO#write also calls a scheduler of Fibers, and
      # converts to an encoding of the socket.
      def at_once?(size)
        return false unless WRITEV && @plain && @direct && @io.singleton_methods(false).empty?
        return false if @io.external_encoding != Encoding::BINARY || (SCHEDULED && Fiber.current_scheduler)

        if @vector.nil?
          place = @io.method(:write_nonblock).source_location.to_a.first
          @vector = place == SOCKETS && @io.method(:write).owner.equal?(IO)
        end
        return false unless @vector

        limit, queued = @io.getsockopt(Socket::SOL_SOCKET, SO_MEMINFO).unpack(SEND_BUFFER)
        queued == 0 && size <= limit / 2
      rescue SystemCallError
        false
      end

      # One writev, which copies nothing.
      # @return [Integer] bytes of *body*
      def write_both(held, body)
        @held = nil
        @call.writing(held.bytesize + body.bytesize) if @call
        @io.write(held, body) - held.bytesize
      end

      # Two writes. The first has the head and the first bytes of the body.
      # @return [Integer] bytes of *body*
      def write_cut(held, body, cut)
        size = body.bytesize
        @held = [held, body.byteslice(0, cut)].pack("a*a*")
        flush
        @held = body.byteslice(cut, size - cut) if size > cut
        flush
        size
      end

      # The library's write of what the program gave.
      # @return [Integer] bytes
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
