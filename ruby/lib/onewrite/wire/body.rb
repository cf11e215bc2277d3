# frozen_string_literal: true

require "stringio"

module Onewrite
  module Wire
    # Tells which request bodies can be read without waiting. Such a body may be held back and joined with the head. Any other
    # body may block, so nothing is held back while it is read. Where this is unknown, a body counts as one that may block.
    module Body
      # Bodies that well-known gems make of other sources, and the variable that holds those. Such a body can block where
      # one of its sources can.
      COMPOSITES = {
        "CompositeReadIO" => :@ios, "Multipart::Post::CompositeReadIO" => :@ios,
        "Faraday::CompositeReadIO" => :@ios, "Faraday::Multipart::CompositeReadIO" => :@ios,
        "UploadIO" => :@io, "Multipart::Post::UploadIO" => :@io,
        "RestClient::Payload::Base" => :@stream, "RestClient::Payload::Streamed" => :@stream,
        "RestClient::Payload::UrlEncoded" => :@stream, "RestClient::Payload::Multipart" => :@stream,
        "Aws::Plugins::ChecksumAlgorithm::AwsChunkedTrailerDigestIO" => :@io
      }.freeze
      # The reading methods of StringIO and their owners. An object may override them and block.
      READING = [:read, :readpartial].map { |name| [name, StringIO.instance_method(name).owner] }.freeze
      # Kernel's, because a source may define a method `method`.
      METHOD = Kernel.instance_method(:method)
      private_constant :COMPOSITES, :READING, :METHOD

      class << self
        # True if *source* is known to return at once: a StringIO, a regular file, or what a gem has built from these.
        # A known size does not count: a relayed download has one and blocks all the same.
        def source?(source)
          case source
          when StringIO then stock_reading?(source)
          when IO, String then file?(source)
          else source.respond_to?(:to_path) ? file?(source) : composite?(source)
          end
        rescue StandardError
          false
        end

        # True if no part of a multipart form can block.
        def form?(params)
          (params.is_a?(Array) || params.is_a?(Hash)) && params.all? { |_, value,| !value.respond_to?(:read) || source?(value) }
        rescue StandardError
          false
        end

        private

        # A file without a size may be one of /proc, where some reads wait.
        def file?(source)
          File.file?(source) && !File.zero?(source)
        end

        def stock_reading?(source)
          READING.all? { |name, owner| METHOD.bind(source).call(name).owner.equal?(owner) }
        end

        # Not of a subclass, which may read in its own way.
        def composite?(source)
          name = COMPOSITES[source.class.name]
          parts = name && source.instance_variable_get(name)
          parts.is_a?(Array) ? parts.all? { |part| source?(part) } : !parts.nil? && source?(parts)
        end
      end
    end

    # For Net::HTTPGenericRequest.
    module Waits
      MULTIPART = %r{\Amultipart/form-data\z}i.freeze
      private_constant :MULTIPART

      private

      # For a request without `body`. The server may need the head, or the first chunk, long before the next one.
      # @return [Symbol, nil] how a body is written that may block: :chunk joins the parts of a chunk, :piece nothing; nil for a
      #   body that cannot block
      def onewrite_waits
        if @body_stream
          return if Body.source?(@body_stream)

          chunked? ? :chunk : :piece
        elsif @body_data && chunked? && MULTIPART =~ content_type.to_s
          # Other forms are encoded before they are written.
          Body.form?(@body_data) ? nil : :piece # the library writes some chunks in pieces
        end
      end
    end
  end
end
