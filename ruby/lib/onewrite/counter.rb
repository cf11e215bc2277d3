# frozen_string_literal: true

module Onewrite
  # A number that threads count up together. A signal handler, where Net::HTTP works, may take no lock: there it goes
  # without.
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
