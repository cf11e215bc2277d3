# frozen_string_literal: true

require "onewrite/config"
require "onewrite/timing/events"

module Onewrite
  # A hook that holds for all sessions, as {Onewrite.on_timing} and {Onewrite.add_listener} return it.
  class Hook
    # @api private
    attr_reader :kind, :target

    # @param kind [Symbol] :timing or :listener
    # @param target [#call, #on_event] gets the records or events
    # @api private
    def initialize(kind, target)
      @kind = kind
      @target = target
      freeze
    end

    # Takes this hook away, and no other. Calls that have begun still report to it.
    # @return [Boolean] whether it was there
    def remove
      Hooks.remove(self)
    end
  end

  # The hooks that hold for all sessions. The list is frozen and replaced as a whole, so a call keeps the hooks that were set
  # when it began.
  #
  # Hooks run in the thread and the Fiber of the call, because tracers keep their context there, and without an interrupt mask.
  # Their own errors are swallowed and counted; what stops a thread, a task or the process passes (TIME-23).
  module Hooks
    # The hooks, and what each kind of them is given to: blocks get records, listeners get events.
    Set = Struct.new(:hooks, :timings, :listeners) do
      # @param running [Array] hooks that run now
      # @return [Set, nil] the others
      def without(running)
        return self if running.empty?

        others = [timings, listeners].map { |targets| targets.reject { |one| running.any? { |other| other.equal?(one) } } }
        self.class.new(hooks, *others) unless others.all?(&:empty?)
      end
    end

    # The block that runs with a record, in the place of the call: so that a request that it sends does not call it again.
    Running = Struct.new(:hook, :outer)

    # The Fiber-local variable with the {Timing} or {Running} under way. It is no variable of the session, which may be frozen,
    # copied or dumped.
    CALL = :onewrite_call
    NONE = [].freeze
    private_constant :NONE

    @errors = 0

    class << self
      include Reference

      # @return [Integer] how often a hook raised
      attr_reader :errors

      def size
        @current ? @current.hooks.size : 0
      end

      # @return [Hook]
      def add(kind, target)
        Hook.new(kind, target).tap { |hook| replace { |set| collect([*(set && set.hooks), hook]) } }
      end

      # @return [Boolean] whether it was there
      def remove(hook)
        there = false
        replace do |set|
          there = !set.nil? && set.hooks.include?(hook)
          there ? collect(set.hooks - [hook]) : set
        end
        there
      end

      # @return [Set, nil] the hooks of a call that begins now: those for all sessions and the session's own
      def with(timing, listener)
        set = @current
        return set unless timing || listener

        timings, listeners = set ? [set.timings, set.listeners] : [NONE, NONE]
        Set.new(NONE, timing ? timings + [timing] : timings, listener ? listeners + [listener] : listeners)
      rescue StandardError # Ractor::IsolationError: hooks belong to the main Ractor
        nil
      end

      # @param call [Timing, Running, nil]
      # @return [Array] the hooks that run now in this Fiber
      def running(call)
        hooks = []
        while call
          hooks << call.hook if call.hook
          call = call.outer
        end
        hooks
      end

      # Gives an event to listeners, or a record to blocks, when its connection is free again.
      # @param running [Timing, Running] notes which of *targets* runs
      def give(targets, given, running)
        event = Event === given
        Thread.current[CALL] = running unless event
        at = 0
        while at < targets.size
          running.hook = target = targets[at]
          at += 1
          begin
            event ? target.on_event(given) : target.call(given)
          rescue StandardError, ScriptError, SystemStackError => e
            failed(e)
          end
        end
      ensure
        running.hook = nil
        Thread.current[CALL] = running.outer unless event
      end

      private

      def failed(error)
        return if (@errors += 1) > 1

        what = error.is_a?(Error) ? ": #{error.message}" : ""
        warn "onewrite: a hook raised #{error.class}#{what} (#{error.backtrace.to_a.first}); " \
             "requests go on, and further errors of hooks are only counted"
      rescue StandardError # as of a $stderr that is closed
        nil
      end

      def collect(hooks)
        timings, listeners = hooks.partition { |hook| hook.kind == :timing }.map { |some| some.map(&:target).freeze }
        Set.new(hooks.freeze, timings, listeners).freeze unless hooks.empty?
      end
    end
  end
end
