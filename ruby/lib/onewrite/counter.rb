# frozen_string_literal: true

module Onewrite
  # A counter for several threads. A signal handler may not take a lock, but may use Net::HTTP: there it counts without.
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
