# frozen_string_literal: true

require "onewrite/counter"

module Onewrite
  # A hook that holds for all sessions, as {Onewrite.on_timing} and {Onewrite.add_listener} return it.
  class Hook
    # @return [#call, #on_event]
    # @api private
    attr_reader :target
    # @return [Symbol] :timing or :listener
    # @api private
    attr_reader :kind

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
  module Hooks
    # The hooks, and what each kind of them is given to: blocks get records, listeners get events.
    Set = Struct.new(:hooks, :timings, :listeners)

    # For Thread.handle_interrupt while a hook runs: what another thread raises (Timeout.timeout, Thread#raise, Thread#kill) is
    # raised in the caller, not in the hook.
    NEVER = { Object => :never }.freeze

    @current = @when_wanted = @connections = nil
    @lock = Mutex.new
    @errors = Counter.new

    class << self
      # @return [Set, nil] nil without a hook
      attr_reader :current

      # Registers what must be done before the first hook is set: to install the patches that only timing needs.
      def when_wanted(&block)
        @when_wanted = block
      end

      # Called before a hook is set, for all sessions or for one.
      def wanted
        @when_wanted.call if @when_wanted
      end

      # @return [Integer] hooks that hold for all sessions
      def size
        @current ? @current.hooks.size : 0
      end

      # @return [Integer] how often a hook raised
      def errors
        @errors.value
      end

      # @param kind [Symbol] :timing or :listener
      # @return [Hook]
      def add(kind, target)
        wanted
        Hook.new(kind, target).tap { |hook| change { |hooks| hooks + [hook] } }
      end

      # @param hook [Hook]
      # @return [Boolean] whether it was there
      def remove(hook)
        found = false
        change do |hooks|
          found = hooks.include?(hook)
          hooks - [hook]
        end
        found
      end

      # Gives the record of a call to the blocks of all sessions, then to the session's own.
      # @param set [Set, nil] as it was when the call began
      # @param call [Call]
      def report(set, own, call)
        timings = set ? set.timings : []
        return unless own || !timings.empty?

        record = call.record
        timings.each { |hook| give(hook, record) }
        give(own, record) if own
      end

      # Gives a record to a hook. What the hook raises is counted and never reaches the caller.
      def give(hook, record)
        hook.call(record)
      rescue StandardError, ScriptError => e
        failed(e)
      end

      # Gives an event to a listener; errors as above.
      def tell(listener, event)
        listener.on_event(event)
      rescue StandardError, ScriptError => e
        failed(e)
      end

      # @return [#opened, nil] who counts connections
      attr_reader :connections

      # Sets the object that counts connections. Its `opened(connection, origin)` is called for each new connection. It returns
      # nil, or an object whose `became` gets :active and :idle with each timed request, and :closed at last.
      # @param connections [#opened, nil]
      def watch(connections)
        wanted if connections
        @connections = connections
      end

      # @param origin [String] such as http://127.0.0.1:80
      # @return [#became, nil]
      def opened(connection, origin)
        connections = @connections
        Thread.handle_interrupt(NEVER) { connections.opened(connection, origin) } if connections
      rescue StandardError, ScriptError => e
        failed(e)
      end

      # Reports the new state of a connection; errors as above.
      def became(watch, state)
        Thread.handle_interrupt(NEVER) { watch.became(state) }
      rescue StandardError, ScriptError => e
        failed(e)
      end

      private

      def change
        @lock.synchronize do
          hooks = yield(@current ? @current.hooks : []).freeze
          @current = hooks.empty? ? nil : Set.new(hooks, of(hooks, :timing), of(hooks, :listener)).freeze
        end
      end

      def of(hooks, kind)
        hooks.select { |hook| hook.kind == kind }.map(&:target).freeze
      end

      # @return [nil]
      def failed(error)
        return unless @errors.next == 1

        warn "onewrite: a hook raised #{error.class} (#{error.backtrace.to_a.first}); requests go on, and further errors of " \
             "hooks are only counted"
      end
    end
  end
end
