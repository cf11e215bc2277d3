# frozen_string_literal: true

# A source of unknown size: one piece per read. Also runs on Ruby 1.9.
class Pieces
  def initialize(*pieces)
    @pieces = pieces
  end

  def read(_length = nil, buffer = String.new)
    piece = @pieces.shift
    piece && buffer.replace(piece)
  end
end
