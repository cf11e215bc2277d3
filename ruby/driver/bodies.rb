# frozen_string_literal: true

require "stringio"
require "tempfile"

# Gives a request of Net::HTTP the body that the protocol describes, in the library's own way.
module Bodies
  # A source that may block: one chunk per read, with a pause before each but the first.
  class Chunks
    def initialize(sizes, fill, gap_ms)
      @chunks = sizes.map { |size| fill * size }
      @gap = gap_ms.to_i / 1000.0
      @first = true
    end

    # IO.copy_stream prefers readpartial and accepts short reads.
    def readpartial(max, buffer = +"")
      raise EOFError, "end of stream" if @chunks.empty?

      sleep @gap if @gap.positive? && !@first
      @first = false
      chunk = @chunks.shift
      if chunk.bytesize > max
        @chunks.unshift(chunk.byteslice(max..-1))
        chunk = chunk.byteslice(0, max)
        @first = true # the rest of a chunk is there already
      end
      buffer.replace(chunk)
    end
  end

  module_function

  # @return [#close, nil] what must be closed after the request
  def give(request, spec, fields)
    return nil if spec.nil? || spec["kind"] == "none"

    case spec["kind"]
    when "bytes" then request.body = content(spec).b
    when "text" then request.body = spec["text"] || content(spec)
    when "memory_file" then readable(request, StringIO.new(content(spec)), spec, fields)
    when "file" then return file(request, spec, fields)
    when "form" then request.set_form_data(spec["fields"])
    when "multipart" then request.set_form(multipart(spec), "multipart/form-data")
    when "stream" then chunks(request, spec, fields)
    else raise Skipped, "no body kind #{spec["kind"].inspect}"
    end
    nil
  end

  def content(spec)
    return spec["b64"].unpack1("m") if spec["b64"]

    (spec["fill"] || "x") * spec["size"].to_i
  end

  def stream(request, source, length, fields)
    request.body_stream = source
    given = fields.map { |name, _| name.downcase }
    if length
      request.content_length = length unless given.include?("content-length")
    elsif !given.include?("content-length") && !given.include?("transfer-encoding")
      request["Transfer-Encoding"] = "chunked"
    end
  end

  def readable(request, source, spec, fields)
    source.pos = spec["position"].to_i
    stream(request, source, spec["size"] - source.pos, fields)
  end

  def file(request, spec, fields)
    file = Tempfile.new("onewrite-driver")
    file.binmode
    file.write(content(spec))
    file.rewind
    readable(request, File.open(file.path, "rb"), spec, fields)
    lambda do
      request.body_stream.close
      file.close!
    end
  end

  def chunks(request, spec, fields)
    length = spec["declared_size"] || spec["chunks"].sum if spec["length"]
    stream(request, Chunks.new(spec["chunks"], spec["fill"] || "x", spec["gap_ms"]), length, fields)
  end

  def multipart(spec)
    spec["fields"].map do |field|
      next [field["name"], field["value"]] unless field["filename"]

      [field["name"], StringIO.new((field["fill"] || "x") * field["size"].to_i), { filename: field["filename"] }]
    end
  end
end
