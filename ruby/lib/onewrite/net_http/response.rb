# frozen_string_literal: true

require "onewrite/wire/coalesce"

module Onewrite
  module NetHTTP
    # For Net::HTTPResponse: whether an answer was read to its end.
    module Response
      # Whether nothing of *response* is left on its connection.
      # @param response [Net::HTTPResponse] of which `reading_body` has begun
      def self.complete?(response)
        response.instance_variable_get(:@read) || !response.instance_variable_get(:@body_exist) ||
          (response["content-length"] == "0" && !response.key?("transfer-encoding"))
      end

      # Why this method: it reads the body and calls the program's block, and whatever ends these early passes here.
      # The connection has the response until then, and a mark afterwards, by which {Session#begin_transport} knows it.
      def reading_body(sock, reqmethodallowbody)
        return super unless Wire::BUFFERED_IO === sock

        begin
          sock.instance_variable_set(:@onewrite_answer, self)
          result = super
          done = true
          result
        rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
          error = e
          raise
        ensure
          sock.instance_variable_set(:@onewrite_answer, done || Response.complete?(self) ? :read : :due)
          # After a StandardError the library closes the connection, and the record ends there.
          sock.onewrite_end(error) if !done && !(StandardError === error) && sock.respond_to?(:onewrite_end)
        end
      end
    end
  end
end
