# frozen_string_literal: true

require "timeout"
require "onewrite/config"

module Onewrite
  # A hook that holds for all sessions, as {Onewrite.on_timing} and {Onewrite.add_listener} return it.
  class Hook
    # @api private
    attr_reader :kind, :target

    # @param kind [Symbol] :timing or :listener
    # @param target [#on_event] gets the records or events
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
  # Hooks run without an interrupt mask: they can be killed, a time limit ends them, and signals arrive. They run in the thread
  # and the Fiber of the call, because tracers keep their context there.
  module Hooks
    # Calls a block with a record, as a listener is called with an event.
    OnTiming = Struct.new(:block) do
      def on_event(timing)
        block.call(timing)
      end
    end

    # The hooks, and what each kind of them is given to: blocks get records, listeners get events.
    Set = Struct.new(:hooks, :timings, :listeners) do
      # @param running [Array<#on_event>, nil] hooks that run now
      # @return [Set] the others
      def without(running)
        return self unless running

        others = [timings, listeners].map { |targets| targets.reject { |one| running.any? { |other| other.equal?(one) } } }
        self.class.new(hooks, *others)
      end
    end

    # A request under way, and the hook that runs, so that a request that the hook sends does not call it.
    class Frame
      # @return [Object, nil] the session, and its call; nil when the call is over and its hooks are called
      attr_accessor :owner, :call
      # @return [#on_event, nil]
      attr_accessor :running

      # @param outer [Frame, nil] of the hook that makes the request, or of the request in whose block it is made
      def initialize(owner, call, outer)
        @owner = owner
        @call = call
        @running = nil
        @outer = outer if outer # an object of MRI before 3.2 has room for three variables
      end

      # @return [Array<#on_event>, nil] the hooks that send a request that is made now
      def barred
        within = @outer.barred if defined?(@outer)
        @running ? [*within, @running] : within
      end

      # A time limit around the request ran out while a hook ran.
      def expire
        @expired = true
        @outer.expire if defined?(@outer)
      end

      def expired?
        defined?(@expired)
      end
    end

    # For Timeout::Error before timeout 0.4: there a limit that ran out ends its block by a throw, as a hook may do, which calls
    # this method first.
    module TimeLimit
      def exception(*)
        here = Thread.current
        frame = here[CALL] if here.equal?(thread)
        frame.expire if frame && Hooks.within_limit?(caller_locations(1))
        super
      end
    end

    # For Thread.handle_interrupt around the adapter's bookkeeping.
    NEVER = { Object => :never }.freeze
    # The name of the Fiber-local variable with the {Frame} of the request under way. It is no variable of the session, which
    # may be copied or dumped.
    CALL = :onewrite_call
    NONE = [].freeze
    # Not errors of a hook: the program ends, a signal arrived, or (from timeout 0.4 on) a time limit of the caller ran out.
    PASS = [SystemExit, SignalException, *(Timeout::ExitException if defined?(Timeout::ExitException))].freeze
    # The message and the file of an error that Timeout.timeout raises.
    EXPIRED = "execution expired".freeze
    TIMEOUT = %r{/timeout\.\w+\z}i.freeze
    private_constant :NONE, :PASS, :EXPIRED, :TIMEOUT

    @errors = 0

    class << self
      include Reference

      # @return [Integer] how often a hook raised
      attr_reader :errors

      # Called before a hook is set, for all sessions or for one.
      def wanted
        Timeout::Error.prepend(TimeLimit) if Timeout::Error.method_defined?(:thread)
      end

      def size
        @current ? @current.hooks.size : 0
      end

      # @return [Hook]
      def add(kind, target)
        wanted
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
      end

      # Ends the request of *frame*, and gives its last events and its record to its hooks. If one of them is killed or runs out
      # of time, the others still get theirs.
      # @param outer [Frame, nil] of the request around it
      # @param events [Array<Event>, nil] nil without listeners
      def report(frame, outer, set, record, events)
        frame.owner = frame.call = nil
        each_event(frame, set.listeners, events) if events
      ensure
        begin
          give(frame, set.timings, record) unless set.timings.empty?
        ensure
          Thread.current[CALL] = outer
        end
      end

      # Calls each of *targets* with *value*. Whatever one raises, throws or returns, the caller gets its answer. Not so for
      # {PASS}, for Thread#kill, and for a Timeout.timeout around the request: those end the request after the other targets.
      def give(frame, targets, value, at = 0)
        frame.running = target = targets[at]
        target.on_event(value)
        ended = true
      rescue *PASS
        ended = true
        raise
      rescue Exception => e # rubocop:disable Lint/RescueException
        ended = true
        raise if time_limit?(e)

        failed(e)
      ensure
        frame.running = nil
        give(frame, targets, value, at + 1) if at + 1 < targets.size
        # Ends a throw or a return. A thread that is killed goes on to end.
        return failed(nil) unless ended || Thread.current.status == "aborting" || frame.expired? # rubocop:disable Lint/EnsureReturn
      end

      # @param locations [Array<Thread::Backtrace::Location>] of an error that strikes anywhere in a hook
      # @return [Boolean] whether there is a Timeout.timeout around the request, and none within the hook
      def within_limit?(locations)
        paths = locations.map(&:path)
        own = paths.index(__FILE__)
        !own.nil? && paths.first(own).grep(TIMEOUT).empty? && !paths.drop(own).grep(TIMEOUT).empty?
      end

      private

      def each_event(frame, listeners, events, at = 0)
        while at < events.size
          give(frame, listeners, events[at])
          at += 1
        end
      ensure
        each_event(frame, listeners, events, at + 1) if at < events.size
      end

      # Whether a Timeout.timeout around the request, with an error class, ran out.
      def time_limit?(error)
        error.message == EXPIRED && within_limit?(error.backtrace_locations)
      rescue Exception # rubocop:disable Lint/RescueException -- as of an error whose message raises
        false
      end

      # @param error [Exception, nil] nil for a throw
      def failed(error)
        return unless (@errors += 1) == 1

        what = error ? "raised #{error.class} (#{error.backtrace.to_a.first})" : "left by a throw or a return"
        warn "onewrite: a hook #{what}; requests go on, and further errors of hooks are only counted"
      rescue Exception # rubocop:disable Lint/RescueException -- as of a $stderr that is closed
        nil
      end

      def collect(hooks)
        timings, listeners = hooks.partition { |hook| hook.kind == :timing }.map { |some| some.map(&:target).freeze }
        Set.new(hooks.freeze, timings, listeners).freeze unless hooks.empty?
      end
    end
  end
end
