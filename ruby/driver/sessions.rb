# frozen_string_literal: true

require "net/http"
require_relative "stage"

# A pool of Net::HTTP sessions to one origin: what connection_pool or net-http-persistent do for an application.
class Sessions
  def initialize(limit, timeout = nil, &make)
    @limit = limit
    @timeout = timeout
    @make = make
    @idle = []
    @count = 0
    @lock = Mutex.new
    @returned = ConditionVariable.new
  end

  # Yields a started session and returns it to the pool, also after an error: Net::HTTP then opens a new socket for the
  # next request.
  def with(&use)
    # A caller that is interrupted (Timeout.timeout) must not leak a session or its place in the pool.
    Thread.handle_interrupt(Object => :never) do
      session = take
      begin
        Thread.handle_interrupt(Object => :immediate) { started(session, &use) }
      ensure
        give_back(session)
      end
    end
  end

  def close
    @lock.synchronize do
      @idle.each { |session| session.finish if session.started? }
      @count -= @idle.size
      @idle.clear
    end
  end

  private

  def started(session)
    unless session.started?
      Stage.at(:connect)
      session.start
    end
    Stage.at(:wait)
    yield session
  end

  def take
    @lock.synchronize do
      deadline = @timeout && (Process.clock_gettime(Process::CLOCK_MONOTONIC) + @timeout)
      while @idle.empty? && @count >= @limit
        rest = deadline && (deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC))
        raise PoolTimeout, "no session was free in #{@timeout} s" if rest && rest <= 0

        Thread.handle_interrupt(Object => :on_blocking) { @returned.wait(@lock, rest) }
      end
      next @idle.pop unless @idle.empty?

      @count += 1
      @make.call
    end
  end

  def give_back(session)
    @lock.synchronize do
      @idle << session
      @returned.signal
    end
  end

  # No session was free in time.
  class PoolTimeout < StandardError; end
end
