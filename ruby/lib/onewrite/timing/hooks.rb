# frozen_string_literal: true

module Onewrite
  # A hook for all sessions, as {Onewrite.on_timing} returns it.
  class Hook
    # @return [#call]
    # @api private
    attr_reader :block

    # @api private
    def initialize(block)
      @block = block
    end

    # Takes this hook away, and no other.
    # @return [nil]
    def remove
      Onewrite.__send__(:remove_hook, self)
    end
  end

  # The hooks of the process, and how all hooks are called.
  module Hooks
    # Of the Fiber: set while hooks run. Requests that they send have no record, or a hook could call itself without end.
    RUNNING = :onewrite_hooks
    NONE = [].freeze
    private_constant :RUNNING, :NONE

    # Replaced as a whole, so that no reader needs a lock.
    @all = @blocks = NONE
    @errors = 0

    class << self
      # @return [Array<Hook>]
      attr_reader :all
      # @return [Integer] how often a hook raised
      attr_reader :errors

      def add(hook)
        set([*@all, hook])
      end

      def remove(hook)
        set(@all.reject { |one| one.equal?(hook) })
      end

      # @param own [#call, nil] the session's
      # @return [Array<#call>, nil] the hooks of a request that begins now
      def of(own)
        hooks = own ? [*@blocks, own] : @blocks
        return if hooks.empty?

        thread = Thread.current
        hooks unless thread[RUNNING] || thread.frozen? # a frozen one cannot take the mark
      rescue StandardError # in a Ractor other than the main one, which cannot read them
        nil
      end

      # Calls each hook. What it raises as its own error is swallowed, counted, and warned of once. What stops a thread or the
      # process passes: every other Exception, and `throw`, with which Timeout.timeout ends its block.
      def call(hooks, record)
        thread = Thread.current
        thread[RUNNING] = true
        hooks.each do |hook|
          begin # rubocop:disable Style/RedundantBegin -- before Ruby 2.5 a block has no rescue
            hook.call(record)
          rescue StandardError, ScriptError, SystemStackError => e
            raise if limit?(e)

            failed(e)
          end
        end
      ensure
        thread[RUNNING] = nil
      end

      private

      def set(hooks)
        @blocks = hooks.map(&:block).freeze
        @all = hooks.freeze
      end

      # Whether it is the error of a Timeout.timeout around the request. Before timeout 0.4 (Ruby 3.3) it is thrown, but raised
      # where it strikes in a Fiber that was begun within the block; one of the hook's own is raised without this variable.
      def limit?(error)
        Timeout::Error === error && error.instance_variable_defined?(:@catch_value)
      end

      def failed(error)
        @errors += 1
        return if @errors > 1

        warn "onewrite: a hook raised #{error.class}: #{error.message} (#{error.backtrace.to_a.first}); " \
             "requests go on, and further errors of hooks are only counted"
      rescue StandardError # as of a $stderr that is closed
        nil
      end
    end
  end
end
