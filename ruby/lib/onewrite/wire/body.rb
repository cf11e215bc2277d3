# frozen_string_literal: true

require "delegate"
require "stringio"

module Onewrite
  # Says which request bodies can be read without waiting. Those may be held back and joined with the head; any other
  # source may block, so what is held is sent before it is read.
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
    # The reading methods of StringIO and who defines them: an object may override them and block.
    READING = %i[read readpartial].map { |name| [name, StringIO.instance_method(name).owner] }.freeze
    private_constant :COMPOSITES, :READING

    # Whether reading *source* is known to return at once: a StringIO, a regular file, or what a gem has built from these.
    # A known size does not count: a download that is passed on has one, and blocks all the same.
    def self.source?(source)
      case source
      when StringIO then stock_reading?(source)
      when IO, String then File.file?(source)
      else path?(source) ? File.file?(source) : composite?(source)
      end
    rescue SystemCallError, IOError
      false
    end

    # Whether IO.copy_stream opens *source* by its name, or takes the file in it, and never asks it to read.
    def self.path?(source)
      source.is_a?(String) || (!source.is_a?(IO) && source.respond_to?(:to_path))
    end

    # Whether the parts of multipart/form-data are all strings or prompt sources.
    def self.form?(params)
      params.all? { |_, value,| !value.respond_to?(:read) || source?(value) }
    end

    # @return [Integer, nil] bytes from the position of *source* to its end, for a StringIO or a regular file; nil for any
    #   other object, and for one with reading methods of its own, which may give less or more
    def self.rest(source)
      if source.is_a?(StringIO)
        return stock_reading?(source) ? source.string.bytesize - source.pos : nil
      end

      io = source.is_a?(IO) || path?(source) ? IO.try_convert(source) : nil
      io.size - io.pos if io.is_a?(File) && io.stat.file?
    rescue SystemCallError, IOError
      nil
    end

    def self.stock_reading?(source)
      READING.all? { |name, owner| source.method(name).owner.equal?(owner) }
    end

    # Not of a subclass, which may read in its own way.
    def self.composite?(source)
      name = COMPOSITES[source.class.name]
      parts = name && source.instance_variable_get(name)
      parts.is_a?(Array) ? parts.all? { |part| source?(part) } : !parts.nil? && source?(parts)
    end
    private_class_method :stock_reading?, :composite?
  end

  # Wrapper, read by IO.copy_stream, that flushes held bytes before each read, because the source may block.
  class WaitingSource
    # @return [WaitingSource, Object] a wrapper with the reading method that *source* has and IO.copy_stream prefers. A path
    #   (of a named pipe, say) is returned as it is, and nothing is held back while it is read.
    def self.over(source, held)
      if Body.path?(source)
        return source.tap { held.pass } unless (io = IO.try_convert(source))

        source = io
      end
      source.respond_to?(:readpartial) ? WaitingPartial.new(source, held) : new(source, held)
    end

    def initialize(source, held)
      @source = source
      @held = held
    end

    def read(*args)
      piece { @source.read(*args) }
    end

    private

    # An empty read is skipped: sent as a chunk it would end the body.
    def piece
      @held.flush
      found = yield
      found = yield while found && found.empty?
      found
    end
  end

  # The same for sources that have readpartial.
  class WaitingPartial < WaitingSource
    def readpartial(*args)
      piece { @source.readpartial(*args) }
    end
  end

  # The same for a part of a multipart form. All other methods are those of the part.
  class WaitingPart < SimpleDelegator
    # @return [Object] *value* itself where it cannot block
    def self.over(value, held)
      return value if !value.respond_to?(:read) || Body.source?(value)

      value.respond_to?(:readpartial) ? WaitingPartialPart.new(value, held) : new(value, held)
    end

    def initialize(value, held)
      super(value)
      @held = held
    end

    def read(*args)
      @held.flush
      __getobj__.read(*args)
    end
  end

  # The same for a part that has readpartial.
  class WaitingPartialPart < WaitingPart
    def readpartial(*args)
      @held.flush
      __getobj__.readpartial(*args)
    end
  end
end
