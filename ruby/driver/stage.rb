# frozen_string_literal: true

# The stage that the request of this thread has reached, as a caller can tell from outside.
module Stage
  module_function

  def at(phase)
    Thread.current.thread_variable_set(:onewrite_stage, phase)
  end

  # @return [Symbol, nil] :queue (the library was not asked yet), :connect, :wait, :receive
  def now
    Thread.current.thread_variable_get(:onewrite_stage)
  end
end
