# frozen_string_literal: true

require "net/protocol"
require "socket"
require "onewrite/errors"

module Onewrite
  module Wire
    # Replaces the Net::BufferedIO while Net::HTTP writes a request. It holds the head until the first bytes of the body are
    # written and passes both on in one write. Any other method call is passed on to the socket after held bytes have been
    # written. There is one per connection, so a request allocates none.
    #
    # A write is tried once, without blocking. Net::BufferedIO#write writes what the kernel did not take, so write_timeout and
    # debug_output work as without the gem.
    class HeldSocket
      # Bytes of body that leave with the head of a large request on a plain socket. With most heads that is less than an
      # Ethernet segment. It is a power of two, because the kernel copies the rest of the body faster from an aligned address.
      FIRST_OF_BODY = 1024
      CHUNK_END = "\r\n".freeze
      EMPTY_CHUNK = "0\r\n".freeze
      SIZE_LINE = /\A\h+\r\n\z/.freeze
      # The file that defines Net::BufferedIO, found by a class of that file that nobody patches.
      LIBRARY = Net::WriteAdapter.instance_method(:initialize).source_location.first
      # write_nonblock takes `exception: false` from Ruby 2.1 on.
      NONBLOCK = RUBY_VERSION >= "2.1"
      private_constant :FIRST_OF_BODY, :CHUNK_END, :EMPTY_CHUNK, :SIZE_LINE, :LIBRARY, :NONBLOCK

      class << self
        # @return [Object, nil] the io under *socket*; nil where a test double for Net::BufferedIO has none
        def io_of(socket)
          socket.io if socket.respond_to?(:io)
        end

        # True if a write may bypass Net::BufferedIO: only to a socket, and only while no other gem has replaced a method that
        # its `write` uses, to count or log bytes. The place of the definition decides, because an alias chain keeps the
        # owner.
        def direct?(socket)
          NONBLOCK && socket?(io_of(socket)) && [:write, :writing, :write0].all? do |name|
            socket.method(name).source_location.to_a.first == LIBRARY
          end
        end

        # True for a real socket, plain or TLS, and false for an object that imitates one.
        def socket?(io)
          io.is_a?(BasicSocket) || (defined?(OpenSSL::SSL::SSLSocket) && io.is_a?(OpenSSL::SSL::SSLSocket))
        end
      end

      def initialize(socket, connection)
        @socket = socket
        @io = HeldSocket.io_of(socket)
        @plain = @io.is_a?(BasicSocket)
        @direct = HeldSocket.direct?(socket)
        @onewrite_connection = connection # where NetHTTP::Connection.of finds it
        @held = @call = @announced = @waits = nil
        @head_seen = @skipping = false
        @limit = @body_bytes = @part = 0
      end

      # Passes this object to the block, which writes one request to it, and writes what is left over.
      # @param limit [Integer] largest number of bytes to join; 0 joins nothing
      # @param announced [Integer, nil] Content-Length of a body that is read from a source
      # @param waits [Symbol, nil] for a body that may block: :chunk joins the three parts of a chunk, :piece joins nothing;
      #   nil for a body that cannot block
      # @param call [Call, nil]
      # @raise [BodyLengthError] if the body is shorter or longer than announced
      def write_request(limit, announced, waits, call)
        @limit = limit
        @announced = announced
        @waits = waits
        @call = call
        @head_seen = false
        @body_bytes = 0 if announced
        @part = 0 if waits
        yield self
        if announced && @body_bytes < announced
          raise BodyLengthError, "the body ended after #{@body_bytes} bytes; Content-Length says #{announced}"
        end

        flush
      ensure
        @held = @call = nil # no byte is left for the next request
      end

      # The first write of a request is its head: write_header makes exactly one, in every version.
      def write(str, *more)
        return write_waiting(str, more) if @waits

        size = str.bytesize
        if @head_seen
          count(size) if @announced
          body(str, size)
        else
          @head_seen = true
          @limit.zero? ? hand_over(str) : @held = str
        end
        more.each { |one| size += write(one) } unless more.empty?
        size
      end

      # Net::HTTP writes the three parts of a chunk of a form with this method and copies a part of the form with {#write}.
      def <<(str)
        return write(str) unless @waits && @head_seen

        body(str, str.bytesize)
        flush if str == CHUNK_END
        self
      end

      # Writes what was kept back.
      def flush
        held = @held
        return unless held

        @held = nil
        hand_over(held)
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

      # A body that may block: the head leaves at once, and what was read leaves before more is read.
      def write_waiting(str, more)
        size = str.bytesize
        unless @head_seen
          @head_seen = true
          hand_over(str)
          return size
        end
        more.each { |one| size += one.bytesize }
        return write_chunk(str, more, size) if @waits == :chunk

        count(size) if @announced
        [str, *more].each { |one| body(one, one.bytesize) }
        flush
        size
      end

      # The parts of a chunk (size line, data, CRLF) come in one call from Ruby 2.6 on, in three calls before, and in one string
      # on 1.9. The last chunk is one string. An empty read would be sent as a chunk that ends the body; it is left out.
      def write_chunk(str, more, size)
        part = @part
        @skipping = str == EMPTY_CHUNK if part.zero?
        whole = !more.empty? || (part.zero? && str !~ SIZE_LINE)
        @part = whole || part == 2 ? 0 : part + 1
        return size if @skipping

        body(str, str.bytesize)
        more.each { |one| body(one, one.bytesize) }
        flush if @part.zero?
        size
      end

      def body(str, size)
        return hand_over(str) if @limit.zero?
        return if size.zero?

        held = @held
        if held.nil?
          # A small piece is held: more may follow, as the size line, data and CRLF of a chunk. A large one is written.
          size * 2 < @limit ? @held = binary(str) : hand_over(str)
        elsif held.bytesize + size <= @limit
          # Only binary strings can be joined whatever their encodings were. `+` copies once; `<<` would grow by doubling.
          @held = binary(held) + binary(str)
        else
          overflow(held, str, size)
        end
      end

      # More than may be joined: the head leaves with the first bytes of the body, the rest from a slice that copies nothing.
      # Over TLS the first write fills a record. On a plain socket it is short, because joined bytes are copied, and because
      # the server can begin to read earlier. (MSG_MORE on the head needs no copy, but then the server is woken later: 100 KB
      # took 1.4 times as long.)
      def overflow(held, str, size)
        @held = nil
        room = @limit - held.bytesize
        room = FIRST_OF_BODY if @plain && room > FIRST_OF_BODY
        return hand_over(held), hand_over(str) if room <= 0

        hand_over(binary(held) + binary(str.byteslice(0, room)))
        hand_over(str.byteslice(room, size - room))
      end

      if "".respond_to?(:b)
        def binary(str)
          str.b
        end
      else
        def binary(str)
          str.dup.force_encoding(Encoding::BINARY)
        end
      end

      # The server would read bytes after Content-Length as the next request (CWE-444), so none of them is sent.
      def count(size)
        @body_bytes += size
        return if @body_bytes <= @announced

        raise BodyLengthError, "the body is longer than its Content-Length of #{@announced}"
      end

      # The kernel takes most writes whole. The rest of a write goes through the library, which waits with write_timeout; so
      # does the whole write when debug_output is set.
      def hand_over(str)
        call = @call
        size = str.bytesize
        call.writing(size) if call
        if @direct && !@socket.debug_output
          written = @io.write_nonblock(str, exception: false)
          return if written == size

          str = str.byteslice(written, size - written) if written.is_a?(Integer)
        end
        @socket.write(str)
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
