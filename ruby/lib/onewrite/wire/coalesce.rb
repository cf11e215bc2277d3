# frozen_string_literal: true

require "net/protocol"
require "socket"
require "onewrite/errors"

module Onewrite
  # Stands in for the Net::BufferedIO while Net::HTTP writes a request. It keeps the head back until body bytes come and
  # hands both over in one write; whatever else the socket is asked for is asked of the socket itself, after what was
  # kept back has been written. One per connection, used again for each request: a request costs no object.
  #
  # A write is tried once on the socket; what is left of it goes through Net::BufferedIO#write, so write_timeout and
  # debug_output work as they do without.
  class HeldSocket
    # Bytes of body that go with the head of a large request on a plain socket: less than a segment of an Ethernet with
    # most heads, and round, for the kernel copies the rest faster from an address as even as the body's own.
    FIRST_OF_BODY = 1024
    private_constant :FIRST_OF_BODY

    def initialize(socket, connection)
      @socket = socket
      @io = HeldSocket.io_of(socket)
      @plain = @io.is_a?(BasicSocket)
      @direct = HeldSocket.direct?(socket)
      @onewrite_connection = connection # where {Connection.of} looks
      @held = @call = @announced = nil
      @head_seen = false
      @limit = @body_bytes = 0
    end

    # @return [Object, nil] the io under *socket*; nil under a stand-in for Net::BufferedIO that has none, as in tests
    def self.io_of(socket)
      socket.io if socket.respond_to?(:io)
    end

    # Where Net::BufferedIO comes from, told by a class that nobody patches.
    LIBRARY = Net::WriteAdapter.instance_method(:initialize).source_location.first
    private_constant :LIBRARY

    # Whether a write may be tried on the io itself before Net::BufferedIO is asked: not where the io is no socket, nor
    # where somebody has put a method of their own in the place of one that `write` is made of, to count bytes or to log
    # them. An owner does not tell: a chain of aliases keeps it.
    def self.direct?(socket)
      socket?(io_of(socket)) && %i[write writing write0].all? do |name|
        socket.method(name).source_location.to_a.first == LIBRARY
      end
    end

    # Whether *io* is a socket of Ruby's, plain or with TLS, and no object that acts as one.
    def self.socket?(io)
      io.is_a?(BasicSocket) || (defined?(OpenSSL::SSL::SSLSocket) && io.is_a?(OpenSSL::SSL::SSLSocket))
    end

    # A request begins.
    # @param limit [Integer] most bytes to join; 0 passes every write on as it comes
    # @param announced [Integer, nil] Content-Length of a body that is read from a source
    # @param call [Call, nil]
    def start(limit, announced, call)
      @limit = limit
      @announced = announced
      @call = call
      @head_seen = false
      @body_bytes = 0 if announced
    end

    # The request was written to its end.
    def finish
      held = @held
      if held
        @held = nil
        hand_over(held)
      end
      return unless @announced && @body_bytes < @announced

      raise BodyLengthError, "the body ended after #{@body_bytes} bytes; Content-Length says #{@announced}"
    end

    # Whatever happened: nothing is left over for the next request.
    def stop
      @held = @call = nil
    end

    # The first write of a request is its head: write_header makes exactly one, in every version.
    def write(str, *more)
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

    alias << write

    # From here on each write of this request goes as it comes.
    def pass
      flush
      @limit = 0
    end

    # Writes what was kept back.
    def flush
      held = @held
      return unless held

      @held = nil
      hand_over(held)
    end

    # Asked before a body is written, and by nobody else.
    def continue_timeout
      @socket.continue_timeout
    end

    # Standard libraries from 2.0 to 3.0 copy streams to `sock.io`, past Net::BufferedIO; this io brings them back here.
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

    def body(str, size)
      return hand_over(str) if @limit.zero?
      return if size.zero?

      held = @held
      if held.nil?
        # Nothing to join with. A small piece waits for its fellows, as the parts of a chunk do; a large one goes.
        size * 2 < @limit ? @held = str.b : hand_over(str)
      elsif held.bytesize + size <= @limit
        # Only binary strings may be joined whatever their encodings were; `+` copies once, where `<<` grows by doubling.
        @held = held.b + str.b
      else
        overflow(held, str, size)
      end
    end

    # More than may be joined: the head goes with the first bytes of the body, the rest from a view of the string. Over
    # TLS the first write fills a record. Elsewhere it is short: what is joined is copied, and the sooner the first bytes
    # leave, the sooner the server wakes up to read the rest. (Linux could join without a copy, by MSG_MORE on the head;
    # that wakes the server later, and 100 KB took 1.4 times as long.)
    def overflow(held, str, size)
      @held = nil
      room = @limit - held.bytesize
      room = FIRST_OF_BODY if @plain && room > FIRST_OF_BODY
      return hand_over(held), hand_over(str) if room <= 0

      hand_over(held.b + str.byteslice(0, room).force_encoding(Encoding::BINARY))
      hand_over(str.byteslice(room, size - room))
    end

    # A body longer than announced would be read as the next request (CWE-444): not a byte of the excess is sent.
    def count(size)
      @body_bytes += size
      return if @body_bytes <= @announced

      raise BodyLengthError, "the body is longer than its Content-Length of #{@announced}"
    end

    # Most writes are taken whole at once. What the kernel does not take goes the library's way, which waits for it and
    # keeps write_timeout; so does all of it where debug_output wants to see it.
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

  # What {HeldSocket#io} answers with: writes come back to the held socket; everything else is for the io itself, after
  # what was kept back has been written. IO.select and wait_readable ask for to_io.
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
      # IO.copy_stream must not open us by path nor take the raw descriptor.
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
