# frozen_string_literal: true

require "stringio"

module Onewrite
  module Wire
    # Tells which request bodies can be read without waiting. Such a body may be held back and joined with the head. Any other
    # body may block, so nothing is held back while it is read.
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
      MULTIPART = %r{\Amultipart/form-data\z}i.freeze
      private_constant :COMPOSITES, :READING

      class << self
        # True if *source* is known to return at once: a StringIO, a regular file, or what a gem has built from these.
        # A known size does not count: a relayed download has one and blocks all the same.
        def source?(source)
          case source
          when StringIO then stock_reading?(source)
          when IO, String then File.file?(source)
          else path?(source) ? File.file?(source) : composite?(source)
          end
        rescue SystemCallError, IOError
          false
        end

        # True if no part of a multipart form can block.
        def form?(params)
          params.all? { |_, value,| !value.respond_to?(:read) || source?(value) }
        end

        # @return [Integer, nil] bytes from the position of *source* to its end, for a StringIO or a regular file; nil for any
        #   other object, and for one with reading methods of its own, which may give less or more
        def rest(source)
          if source.is_a?(StringIO)
            return stock_reading?(source) ? source.string.bytesize - source.pos : nil
          end

          io = source.is_a?(IO) || path?(source) ? IO.try_convert(source) : nil
          io.size - io.pos if io.is_a?(File) && io.stat.file?
        rescue SystemCallError, IOError
          nil
        end

        private

        # True if IO.copy_stream opens *source* by its name, or takes the file in it, and never calls a reading method.
        def path?(source)
          source.is_a?(String) || (!source.is_a?(IO) && source.respond_to?(:to_path))
        end

        def stock_reading?(source)
          READING.all? { |name, owner| source.method(name).owner.equal?(owner) }
        end

        # Not of a subclass, which may read in its own way.
        def composite?(source)
          name = COMPOSITES[source.class.name]
          parts = name && source.instance_variable_get(name)
          parts.is_a?(Array) ? parts.all? { |part| source?(part) } : !parts.nil? && source?(parts)
        end
      end
    end
  end
end
