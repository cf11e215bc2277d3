# frozen_string_literal: true

module Onewrite
  # The one clock of the timing model: CLOCK_MONOTONIC, which on Linux is the same for all processes of a machine.
  module Clock
    # @return [Integer] nanoseconds
    def self.now
      Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end
  end
end
