# frozen_string_literal: true

require "onewrite/config"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # For Net::HTTPGenericRequest: one write.
    module Request
      # Why this method: it writes every request and gets the connection. No code of the library is repeated, and nothing is set
      # on the request, which may be frozen.
      # Not reached: code that calls it with a connection of another kind, as ssrf_filter does with a StringIO.
      def exec(sock, ver, path)
        done = !(Wire::BUFFERED_IO === sock)
        return super if done

        writer = onewrite_writer(sock) if @body || @body_stream || @body_data
        result = super(writer || sock, ver, path)
        writer.flush if writer && writer.head
        Wire::Nodelay.quickack(Wire::Nodelay.tcp(sock.io)) if Config.quickack && !Config.observe
        done = true
        result
      rescue StandardError
        failed = true # the library closes the connection, or reads an answer that is there
        raise
      ensure
        onewrite_stopped(sock, writer, failed) unless done
      end

      private

      # Nothing is joined where the library waits for 100 Continue, and where it logs what it writes.
      # @return [Wire::HeldHead, nil]
      def onewrite_writer(sock)
        return if Config.observe || sock.debug_output || (sock.continue_timeout && key?("expect"))

        if @body # of another class it may be any object; a large one is two writes, as in the library
          Wire::HeldHead.new(sock, true) if @body.instance_of?(String) && @body.bytesize < Wire::LIMIT
        elsif @body_stream
          Wire::HeldHead.new(sock, Wire::Source.at_hand?(@body_stream))
        elsif !chunked? # a form: the library encodes it before it writes the head
          Wire::HeldHead.new(sock, true)
        end
      end

      # The request was not written to its end. The library has written the head when a source of the body fails.
      def onewrite_stopped(sock, writer, failed)
        begin
          writer.flush if writer
        rescue SystemCallError, IOError, Timeout::Error
          nil # the first error is the one to raise
        end
        sock.onewrite_give_up if !failed && sock.respond_to?(:onewrite_give_up)
      end
    end
  end
end
