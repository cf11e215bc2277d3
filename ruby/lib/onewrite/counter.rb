# frozen_string_literal: true

module Onewrite
  # A counter that threads share. In a signal handler, where no lock may be taken, it counts without one.
  class Counter
    # @return [Integer]
    attr_reader :value

    def initialize
      @value = 0
      @lock = Mutex.new
    end

    # @return [Integer] the next number, from 1
    def next
      @lock.synchronize { @value += 1 }
    rescue ThreadError
      @value += 1
    end
  end
end
