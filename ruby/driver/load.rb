# frozen_string_literal: true

require_relative "exchange"

# Load: repeats one request on keep-alive connections, in a closed or an open loop.
module Load
  # What the callers measured, in microseconds.
  class Tally
    attr_reader :latencies, :service, :phases, :errors, :sample

    def initialize
      @lock = Mutex.new
      @latencies = []
      @service = []
      @phases = { wait_us: [], send_us: [] }
      @errors = 0
    end

    def add(latency, service, timing)
      @lock.synchronize do
        @latencies << latency
        @service << service
        if timing
          @phases[:wait_us] << (timing[:wait_ns] / 1000.0) if timing[:wait_ns]
          @phases[:send_us] << (timing[:send_ns] / 1000.0) if timing[:send_ns]
        end
      end
    end

    # The response had another status than the one that counts as success.
    def refuse(status)
      @lock.synchronize do
        @errors += 1
        @sample ||= "status #{status}"
      end
    end

    def fail(error)
      @lock.synchronize do
        @errors += 1
        @sample ||= "#{error.class}: #{error.message}"
      end
    end
  end

  module_function

  def run(client, message)
    connections = (message["connections"] || 1).to_i
    if connections > client.size
      raise Skipped, "the client was opened with pool_size #{client.size}: #{connections} connections need more"
    end

    callers(connections, message["warmup"].to_i, nil) { Exchange.send(client, message) }
    measure(client, message, connections)
  end

  def measure(client, message, connections)
    tally = Tally.new
    open_loop = message["mode"] == "open"
    started = Exchange.now_ns
    rate = open_loop ? (message["rate"] || 100).to_f : nil
    total = total_of(message, rate)
    ends = message["seconds"] && !open_loop ? started + (message["seconds"] * 1e9).to_i : nil
    callers(connections, total, ends) do |index|
      due = rate && wait_until(started + (index * 1e9 / rate).to_i)
      one(client, message, tally, due)
    end
    report(tally, started, client.hooks.on?)
  end

  def total_of(message, rate)
    return message["count"].to_i if message["count"]
    return (rate * message["seconds"]).to_i if rate && message["seconds"]

    message["seconds"] ? nil : 100
  end

  def wait_until(due)
    rest = (due - Exchange.now_ns) / 1e9
    sleep rest if rest.positive?
    due
  end

  def one(client, message, tally, due)
    collected = client.hooks.on? ? client.hooks.collect : nil
    before = Exchange.now_ns
    response = Exchange.send(client, message)
    after = Exchange.now_ns
    return tally.refuse(response.code) unless expected?(message["expect"], response.code.to_i)

    tally.add((after - (due || before)) / 1000.0, (after - before) / 1000.0, collected && collected.timings.first)
  rescue Skipped
    raise
  rescue StandardError => e
    tally.fail(e)
  end

  def expected?(expect, status)
    expect ? status == expect : status.between?(200, 299)
  end

  # Shares *total* requests among *count* callers, or runs until *ends*.
  def callers(count, total, ends)
    return if total&.zero?

    lock = Mutex.new
    taken = -1
    turn = lambda do
      loop do
        break if ends && Exchange.now_ns >= ends

        index = lock.synchronize { total && taken + 1 >= total ? nil : taken += 1 }
        break unless index

        yield index
      end
    end
    return turn.call if count == 1

    Array.new(count) { Thread.new(&turn) }.each(&:join)
  end

  def report(tally, started, hooks)
    reply = {
      latencies_us: tally.latencies.map { |value| value.round(1) },
      service_us: tally.service.map { |value| value.round(1) },
      errors: tally.errors, error_sample: tally.sample, started_mono_ns: started, ended_mono_ns: Exchange.now_ns
    }
    reply[:phases] = tally.phases if hooks
    reply
  end
end
