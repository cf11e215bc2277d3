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
    private_constant :MemoryIO, :ANSWER

    class << self
      # @return [String]
      def to_s
        defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
      end

      # net-http is a gem with a version since 0.1. A major version below 2 with all the methods counts as known.
      # @param patches [Array<NetHTTP::Patch>] what is to be patched
      # @return [String, nil] why this net-http or net-protocol is unknown
      def unknown(patches)
        return "unknown version of net-http" if defined?(Net::HTTP::VERSION) && Net::HTTP::VERSION !~ /\A[01]\./

        missing = patches.map(&:unknown).flatten
        missing = unknown_names if missing.empty?
        missing.empty? ? nil : "net-http or net-protocol has no #{missing.join(", ")} as expected"
      end

      private

      # Reads an answer with the library's own objects and compares the private names that the adapter uses.
      def unknown_names
        socket = Net::BufferedIO.new(MemoryIO.new(ANSWER))
        socket.__send__(:rbuf_fill)
        unread = [unread(socket)]
        response = Net::HTTPResponse.read_new(socket)
        response.reading_body(socket, true) { response.body }
        unread << unread(socket)
        missing = unread == [ANSWER.bytesize, 1] ? [] : ["Net::BufferedIO's buffer"]
        missing + variables(socket, %i[@io @rbuf @debug_output]) + variables(response, %i[@read @body_exist]) +
          variables(Net::HTTPGenericRequest.new("POST", true, true, "/"), %i[@body @body_stream @body_data])
      rescue StandardError, NotImplementedError => e
        ["answer to read (#{e.class}: #{e.message})"]
      end

      # As TimedIO counts.
      def unread(socket)
        socket.instance_variable_get(:@rbuf).bytesize - (socket.instance_variable_get(:@rbuf_offset) || 0)
      end

      def variables(object, names)
        (names - object.instance_variables).map { |name| "#{object.class}##{name}" }
      end
    end
  end
end
