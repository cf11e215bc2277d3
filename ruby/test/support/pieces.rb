# frozen_string_literal: true

# A source of unknown size: one piece per read.
class Pieces
  def initialize(*pieces)
    @pieces = pieces
  end

  def read(_length = nil, buffer = String.new)
    piece = @pieces.shift
    piece && buffer.replace(piece)
  end
end
