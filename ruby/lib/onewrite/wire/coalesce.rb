# frozen_string_literal: true

require "net/protocol"
require "stringio"

module Onewrite
  # What the adapter changes of a request's way to the kernel.
  module Wire
    # Most bytes of a request that are joined, head and body together: one TLS record.
    LIMIT = 16_384
    # The library's class. WebMock replaces its constant by a subclass.
    BUFFERED_IO = Net::BufferedIO.ancestors.grep(Class).take_while { |one| one != Object }.last

    # Stands in for a connection while one request is written to it. It keeps a copy of the head and hands it on with the first
    # piece of the body. Nothing is left of it on the connection, so nothing of one request can reach the next.
    #
    # The file is kept to the syntax of Ruby 1.9 ({Legacy}).
    class HeldHead
      EMPTY = "".freeze
      private_constant :EMPTY

      # The library asks for it between head and body, and waits for nothing without it. A request that waits for 100 Continue is
      # not written through this object.
      # @return [nil]
      attr_reader :continue_timeout
      # @return [String, nil] what is held
      attr_reader :head

      # @param sock [Net::BufferedIO]
      # @param holds [Boolean] false: the head leaves at once, because the body may have to be waited for
      def initialize(sock, holds)
        @sock = sock
        @holds = holds
        @head = @continue_timeout = nil
      end

      # The library gives it one String, or the three of a chunk, each of which it would write alone. A splat would make an Array.
      # @return [Integer] bytes that were taken
      def write(str, data = nil, line_end = nil)
        return write_chunk([str, data, line_end].compact) if data

        if @holds
          @holds = false
          return @sock.write(str) unless str.instance_of?(String)

          @head = EMPTY + str # a subclass of the library's request may fill its String anew
        elsif @head && @head.bytesize + str.bytesize <= LIMIT
          joined = join(@head, str)
          @head = nil
          @sock.write(joined)
        else
          flush
          @sock.write(str)
        end
        str.bytesize
      end
      alias << write

      # Writes the head, if it is still here: the body had no byte, or its source failed.
      def flush
        head = @head
        @head = nil
        @sock.write(head) if head
      end

      private

      def join(head, str)
        head + str
      rescue Encoding::CompatibilityError
        [head, str].pack("a*a*")
      end

      # Whoever takes the io, or anything else of the connection, may write to it or wait for it.
      def method_missing(name, *args, &block)
        flush
        @sock.__send__(name, *args, &block)
      end

      def respond_to_missing?(name, include_private = false)
        @sock.respond_to?(name, include_private)
      end

      # One of more than a record is written as the library does.
      def write_chunk(strs)
        if strs.all? { |str| str.instance_of?(String) } && strs.map(&:bytesize).reduce(:+) <= LIMIT
          write(strs.pack("a*" * strs.size))
        else
          flush
          @sock.write(*strs)
        end
      end
    end

    # Which sources of a body can be read without waiting.
    module Source
      class << self
        # @param source [Object] a request's `body_stream`
        # @return [Boolean] true for a StringIO and a regular file, also within a payload of rest-client
        def at_hand?(source)
          return false unless Object === source

          source = source.instance_variable_get(:@stream) if source.class.name.to_s.start_with?("RestClient::Payload::")
          return false unless source.singleton_methods.empty? # one of them may wait

          source.instance_of?(StringIO) || (source.instance_of?(File) && file?(source))
        rescue StandardError # of the program's own object
          false
        end

        private

        # A file without a size may be one of /proc, where some reads wait.
        def file?(source)
          stat = source.closed? ? nil : source.stat
          !stat.nil? && stat.file? && !stat.zero?
        end
      end
    end
  end
end
