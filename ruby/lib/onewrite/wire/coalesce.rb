# frozen_string_literal: true

require "net/protocol"
require "socket"

module Onewrite
  module Wire
    # Replaces the Net::BufferedIO while Net::HTTP writes a request. It holds what is written and passes it on in one write.
    # Any other method call is passed on to the socket after held bytes have been written. There is one per connection.
    #
    # A write is tried once, without blocking. Net::BufferedIO#write writes what the kernel did not take, so write_timeout and
    # debug_output work as without the gem.
    #
    # A body that is no String, or whose `bytesize` is not its size, goes to Net::BufferedIO as it is. No other method of a body
    # is called, because a subclass of String may define it anew.
    class HeldSocket
      # Most bytes that are joined by a copy: one TLS record.
      MOST = 16_384
      # Bytes of body that leave with the head of a large request where one write of both could wait. It is a power of two,
      # because the kernel copies the rest of the body faster from an aligned address.
      FIRST_OF_BODY = 1024
      CHUNK_END = "\r\n".freeze
      SIZE_LINE = /\A\h{1,16}\r\n\z/.freeze
      # The file that defines Net::BufferedIO. It also defines this class, which nobody patches.
      LIBRARY = Net::WriteAdapter.instance_method(:initialize).source_location.first.dup.freeze
      # write_nonblock takes `exception: false` from Ruby 2.1 on.
      NONBLOCK = RUBY_VERSION >= "2.1"
      # IO#write makes one writev of several strings from Ruby 2.5 on, in MRI.
      WRITEV = RUBY_ENGINE == "ruby" && RUBY_VERSION >= "2.5"
      # ioctl of Linux: bytes that the peer has not acknowledged (tcp(7)).
      SIOCOUTQ = (0x5411 if RUBY_PLATFORM =~ /\A(x86_64|aarch64|arm|i.86|riscv|s390).*linux/)
      NOTHING = [0].pack("i").freeze
      private_constant :MOST, :FIRST_OF_BODY, :CHUNK_END, :SIZE_LINE, :LIBRARY, :NONBLOCK, :WRITEV, :SIOCOUTQ, :NOTHING

      class << self
        # True if a write may bypass Net::BufferedIO: only to a real socket, plain or TLS, and only while no other gem has
        # replaced a method that its `write` uses, to count or log bytes. The place of the definition decides, because an alias
        # chain keeps the owner.
        def direct?(socket, io)
          NONBLOCK && (io.is_a?(BasicSocket) || (defined?(OpenSSL::SSL::SSLSocket) && io.is_a?(OpenSSL::SSL::SSLSocket))) &&
            [:write, :writing, :write0].all? { |name| socket.method(name).source_location.to_a.first == LIBRARY }
        end
      end

      # @return [Boolean] whether a request is written in part
      attr_reader :unsent
      # @return [#writing, nil] counts the writes
      attr_accessor :call

      def initialize(socket)
        @socket = socket
        @io = socket.io if socket.respond_to?(:io) # a test double for Net::BufferedIO may have none
        @plain = @io.is_a?(BasicSocket)
        @direct = HeldSocket.direct?(socket, @io)
        @held = @call = @waits = @buffer = @queued = nil
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
        @in_chunk = false
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
        return pass_on(str, *more) if @limit.zero?

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
        if @direct && !@socket.debug_output
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
        return write_large(str, nil) unless String === str # rubocop:disable Style/CaseEquality -- the object may define is_a?

        size = str.bytesize
        held = @held
        return size if size.zero?
        return write_large(str, size) if size > @limit || (held && held.bytesize + size > @limit)

        joined = held ? [held, str].pack("a*a*") : [str].pack("a*") # joins bytes of any encodings
        return write_large(str, nil) unless joined.bytesize == (held ? held.bytesize + size : size)

        @held = joined
        size
      end

      # Writes held bytes and *str* without a copy of it.
      # @param size [Integer, nil] the `bytesize` of a String
      # @return [Integer] bytes
      def write_large(str, size)
        held = @held
        return pass_on(str) unless held

        # A subclass goes to the library as it is, which may call methods that it defines anew.
        body = String.new(str) if size && str.instance_of?(String)
        if body && body.bytesize == size
          return write_both(held, body) if @plain && @limit == MOST && room?(held.bytesize + size)

          cut = @limit - held.bytesize
          cut = FIRST_OF_BODY if @plain && cut > FIRST_OF_BODY
          return write_cut(held, body, cut) if cut > 0
        end
        flush
        pass_on(str)
      end

      # Whether the kernel takes *size* bytes at once. IO#write has no time limit, so it is used only where it cannot wait:
      # the send buffer is empty and counts up to twice the bytes.
      def room?(size)
        return false unless WRITEV && SIOCOUTQ && @direct && !@socket.debug_output

        @buffer ||= @io.getsockopt(Socket::SOL_SOCKET, Socket::SO_SNDBUF).int / 2
        return false if size > @buffer

        @io.ioctl(SIOCOUTQ, @queued ||= NOTHING.dup)
        @queued.start_with?(NOTHING)
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
      def pass_on(str, *more)
        if @call
          @call.writing(str.bytesize)
          more.each { |part| @call.writing(part.bytesize) }
        end
        @socket.write(str, *more)
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
