# frozen_string_literal: true

require "delegate"
require "stringio"

module Onewrite
  # Tells bodies that are at rest, which may be held and joined, from sources that may make one wait.
  module Prompt
    # Whether reading *source* returns promptly: StringIO, a regular file, or an object that knows its size, as the
    # payloads of rest-client, multipart bodies and the streams of SDKs do: what has a size exists before it is read.
    def self.source?(source)
      return true if source.is_a?(StringIO)

      io = IO.try_convert(source)
      return io.stat.file? if io

      source.respond_to?(:size) || source.respond_to?(:length)
    rescue SystemCallError, IOError
      false
    end

    # Whether the parts of multipart/form-data are all strings or prompt sources.
    def self.form?(params)
      params.all? { |_, value,| !value.respond_to?(:read) || source?(value) }
    end

    # @return [Integer, nil] bytes from where *source* stands to its end, for a StringIO or a regular file
    def self.rest(source)
      return source.string.bytesize - source.pos if source.is_a?(StringIO)

      io = IO.try_convert(source)
      io.size - io.pos if io.is_a?(File) && io.stat.file?
    rescue SystemCallError, IOError
      nil
    end
  end

  # A source that may make one wait, seen by IO.copy_stream: before it is asked for more, what is held is written.
  class WaitingSource
    # @return [WaitingSource] with the reading method *source* has, as IO.copy_stream prefers them
    def self.over(source, held)
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

    # An empty piece is none: as a chunk it would end the body.
    def piece
      @held.flush
      found = yield
      found = yield while found && found.empty?
      found
    end
  end

  # The same for sources that hand out what is there.
  class WaitingPartial < WaitingSource
    def readpartial(*args)
      piece { @source.readpartial(*args) }
    end
  end

  # A part of a multipart form that may make one wait: all of it as it was, but for its reading.
  class WaitingPart < SimpleDelegator
    # @return [Object] *value* itself where it is at rest
    def self.over(value, held)
      !value.respond_to?(:read) || Prompt.source?(value) ? value : new(value, held)
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
end
