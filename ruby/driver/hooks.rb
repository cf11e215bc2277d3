# frozen_string_literal: true

# Collects the records that the adapter's hook gets. A request runs on one thread, so the thread identifies it.
class Hooks
  # What a hook of mode "raising" raises.
  class RaisedByHook < StandardError; end

  # @param mode [String] the option `hooks` of `open`
  def initialize(mode)
    @mode = mode
    @added = Onewrite.on_timing { |record| take(record) } if mode == "added"
  end

  def on?
    @mode != "none"
  end

  # Sets the hook on *http*, unless it holds for the process.
  def attach(http)
    http.onewrite_timing = method(:take) if on? && !@added
  end

  # Begins the list of this thread's next request.
  # @return [Array<Hash>]
  def collect
    Thread.current.thread_variable_set(:onewrite_driver, [])
  end

  def remove
    @added.remove if @added
  end

  private

  def take(record)
    (Thread.current.thread_variable_get(:onewrite_driver) || collect) << record.to_h.merge(events: record.events)
    raise RaisedByHook, "on_timing" if @mode == "raising"
  end
end
