# frozen_string_literal: true

# A source that hands out its pieces one by one and knows no size.
class Pieces
  def initialize(*pieces)
    @pieces = pieces
  end

  def read(_length = nil, buffer = +"")
    piece = @pieces.shift
    piece && buffer.replace(piece)
  end
end
