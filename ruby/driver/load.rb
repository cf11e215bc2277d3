# frozen_string_literal: true

require_relative "exchange"

# Load: repeats one request on keep-alive connections; each caller waits for its answer.
module Load
  # What the callers measured, in microseconds.
  class Tally
    def initialize
      @lock = Mutex.new
      @latencies = []
      @errors = 0
    end

    def add(latency)
      @lock.synchronize { @latencies << latency.round(1) }
    end

    def fail(error)
      @lock.synchronize do
        @errors += 1
        @sample ||= error
      end
    end

    def report
      { latencies_us: @latencies, errors: @errors, error_sample: @sample }
    end
  end

  module_function

  def run(client, message)
    connections = (message["connections"] || 1).to_i
    if connections > client.size
      raise Skipped, "the client was opened with pool_size #{client.size}: #{connections} connections need more"
    end

    tally = Tally.new
    ends = message["seconds"] && (Exchange.now_ns + (message["seconds"] * 1e9).to_i)
    callers(connections, message["count"] || (ends ? nil : 100), ends) { one(client, message, tally) }
    tally.report
  end

  def one(client, message, tally)
    client.hooks.collect if client.hooks.on?
    before = Exchange.now_ns
    code = Exchange.send(client, message).code
    latency = (Exchange.now_ns - before) / 1000.0
    expected?(message["expect"], code.to_i) ? tally.add(latency) : tally.fail("status #{code}")
  rescue Skipped
    raise
  rescue StandardError => e
    tally.fail("#{e.class}: #{e.message}")
  end

  def expected?(expect, status)
    expect ? status == expect : status.between?(200, 299)
  end

  # Shares *total* requests among *count* callers, or runs until *ends*.
  def callers(count, total, ends)
    lock = Mutex.new
    taken = 0
    turn = lambda do
      yield while (!ends || Exchange.now_ns < ends) && lock.synchronize { !total || (taken += 1) <= total }
    end
    return turn.call if count == 1

    Array.new(count) { Thread.new(&turn) }.each(&:join)
  end
end
