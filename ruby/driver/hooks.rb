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

  # Sets hooks on *http*. Those of mode "added" hold for the process.
  def attach(http)
    return if @mode == "added"

    http.onewrite_timing = on_timing unless @mode == "listener"
    http.onewrite_listener = listener unless @mode == "on_timing"
  end

  # Sets the hooks of mode "added".
  def add
    @added = @mode == "added" ? [Onewrite.add_listener(listener), Onewrite.on_timing(&on_timing)] : []
  end

  def remove_listener
    @added.first.remove
  end

  def remove_all
    @added.to_a.each(&:remove)
  end

  private

  def on_timing
    lambda do |timing|
      collected.timings << timing.to_h
      raise RaisedByHook, "on_timing" if @mode == "raising"
    end
  end

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
