# frozen_string_literal: true

require "net/http"
require "stringio"

module Onewrite
  # Which net-http and net-protocol these are, and whether they have what the adapter patches and uses.
  module BaseVersion
    # An io in memory.
    class MemoryIO < StringIO
      def read_nonblock(size, *)
        super(size) # before Ruby 2.3 it takes no more
      end
    end

    ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1+".freeze
    SESSION = %i[@socket @debug_output].freeze
    REQUEST = %i[@body @body_stream @body_data].freeze
    RESPONSE = %i[@header @socket @read @body_exist].freeze
    SOCKET = %i[io write rbuf_fill continue_timeout closed? close].freeze
    IO_VARIABLES = %i[@io @rbuf @debug_output].freeze
    private_constant :MemoryIO, :ANSWER, :SESSION, :REQUEST, :RESPONSE, :SOCKET, :IO_VARIABLES

    class << self
      # @return [String]
      def to_s
        defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
      end

      # net-http is a gem with a version since 0.1. A major version below 2 with all the methods counts as known.
      # @param patches [Array<NetHTTP::Patch>] what is to be patched
      # @param session [Class] the library's
      # @return [String, nil] why this net-http or net-protocol is unknown
      def unknown(patches, session)
        return "unknown version of net-http" if defined?(Net::HTTP::VERSION) && Net::HTTP::VERSION !~ /\A[01]\./

        missing = patches.map(&:unknown).flatten
        return "net-http has no #{missing.join(", ")} as expected" unless missing.empty?

        missing = unknown_names(session)
        missing.empty? ? nil : "net-http or net-protocol has no #{missing.join(", ")} as expected"
      end

      private

      # Reads an answer with the library's own objects and compares the private names that the adapter uses.
      def unknown_names(session)
        socket = Net::BufferedIO.new(MemoryIO.new(ANSWER))
        missing = SOCKET.reject { |name| socket.respond_to?(name, true) }.map { |name| "Net::BufferedIO##{name}" }
        return missing unless missing.empty?

        unread = [unread?(socket), socket.__send__(:rbuf_fill) && nil, unread?(socket)]
        response = Net::HTTPResponse.read_new(socket)
        response.reading_body(socket, true) { response.body }
        unread << unread?(socket)
        socket.read(1)
        missing << "Net::BufferedIO's buffer" unless [*unread, unread?(socket)] == [false, nil, true, true, false]
        fresh = session.allocate # `new` of a session may be wrapped, and `initialize` has no effect beyond the object
        fresh.__send__(:initialize, "localhost")
        missing + variables(fresh, SESSION) + variables(socket, IO_VARIABLES) + variables(response, RESPONSE) +
          variables(Net::HTTPGenericRequest.new("POST", true, true, "/"), REQUEST)
      rescue StandardError, NotImplementedError => e
        ["answer to read (#{e.class}: #{e.message})"]
      end

      # As ResponseHead finds out.
      def unread?(socket)
        socket.instance_variable_get(:@rbuf).bytesize > (socket.instance_variable_get(:@rbuf_offset) || 0)
      end

      def variables(object, names)
        (names - object.instance_variables).map { |name| "#{object.class}##{name}" }
      end
    end
  end
end
