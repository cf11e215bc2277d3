# frozen_string_literal: true

# Collects what the adapter's hooks deliver. A call runs on one thread, so the thread identifies the request.
class Hooks
  # What was delivered for one request.
  Collected = Struct.new(:timings, :events)

  # What a hook of mode "raising" raises.
  class RaisedByHook < StandardError; end

  def initialize(mode)
    @mode = mode
  end

  def on?
    @mode != "none"
  end

  def collect
    Thread.current.thread_variable_set(:onewrite_driver, Collected.new([], []))
  end

  def collected
    Thread.current.thread_variable_get(:onewrite_driver) || collect
  end

  # Sets hooks on *http*.
  def attach(http)
    http.onewrite_timing = lambda do |timing|
      collected.timings << timing.to_h
      raise RaisedByHook, "on_timing" if @mode == "raising"
    end
    http.onewrite_listener = listener
  end

  private

  def listener
    hooks = self
    raising = @mode == "raising"
    Class.new(Onewrite::TimingListener) do
      define_method(:on_event) do |event|
        hooks.collected.events << event.to_h
        raise RaisedByHook, event.name.to_s if raising
      end
    end.new
  end
end
