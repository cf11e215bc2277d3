# frozen_string_literal: true

# Breaks a Ruby client: what goes to the path in BENCH_SPLIT is sent in pieces, 1 ms apart. Nothing else changes.

require "openssl"
require "socket"

module BenchSplit
  MARK = "#{ENV.fetch('BENCH_SPLIT', '')} HTTP/1.1\r\n".freeze

  module_function

  # The pieces of a request that is to be split, or nil.
  def pieces(parts)
    whole = parts.map(&:to_s).join.b
    return nil if ENV.fetch("BENCH_SPLIT", "").empty? || !whole[0, 400].include?(MARK)

    third = whole.bytesize / 3
    [whole.byteslice(0, third), whole.byteslice(third, third), whole.byteslice((2 * third)..)]
  end

  # For the methods that take what is to be written and return how much of it was.
  module Writes
    %i[write write_nonblock syswrite].each do |name|
      define_method(name) do |*parts, **options|
        pieces = BenchSplit.pieces(name == :write ? parts : parts.first(1))
        return super(*parts, **options) unless pieces

        sent = 0
        pieces.each do |piece|
          sent += super(piece, **options)
          sleep 0.001
        end
        sent
      end
    end
  end
end

BasicSocket.prepend(BenchSplit::Writes)
TCPSocket.prepend(BenchSplit::Writes)
Socket.prepend(BenchSplit::Writes)
OpenSSL::SSL::SSLSocket.prepend(BenchSplit::Writes)
