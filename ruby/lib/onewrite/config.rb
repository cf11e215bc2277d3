# frozen_string_literal: true

require "onewrite/errors"

module Onewrite
  # The options. The object is frozen and replaced as a whole, so a request sees either the old or the new options.
  # Code wins over the environment, the environment over the default. The environment is read once, at load.
  class Config
    # Name, kind and default of each option. The environment name is ONEWRITE_ and the name in capitals.
    OPTIONS = {
      nodelay_disabled: [:boolean, false],
      coalesce_disabled: [:boolean, false],
      hooks_disabled: [:boolean, false],
      coalesce_max: [0..16_384, 16_384],
      quickack: [:boolean, false]
    }.freeze

    # Values that a switch in the environment takes, in upper or lower case.
    WORDS = { "1" => true, "true" => true, "yes" => true, "on" => true,
              "0" => false, "false" => false, "no" => false, "off" => false }.freeze
    private_constant :WORDS

    attr_reader :enabled, :nodelay, :hooks, :quickack, :disabled_by
    # @return [Integer] most bytes to join; 0 where nothing is to be joined
    attr_reader :join_max

    def initialize(values, disabled_by)
      @disabled_by = disabled_by
      @enabled = disabled_by.nil?
      @nodelay = !values[:nodelay_disabled]
      @join_max = values[:coalesce_disabled] ? 0 : values[:coalesce_max]
      @hooks = !values[:hooks_disabled]
      @quickack = values[:quickack]
      @values = values.dup.freeze
      freeze
    end

    # @return [Hash{Symbol => Object}] options by name
    def to_h
      @values
    end

    @lock = Mutex.new
    @in_code = {}
    @watchers = []

    class << self
      # @return [Config]
      attr_reader :current

      def update(options)
        options.each { |name, value| check(name, value) }
        @lock.synchronize do
          @in_code = @in_code.merge(options).reject { |_, value| value.nil? }
          swap(@current.disabled_by)
        end
      end

      # Calls the block with the options, now and after each change.
      # @yieldparam config [Config]
      def watch(&block)
        @lock.synchronize { @watchers += [block] }
        yield @current
      end

      def disable!
        @lock.synchronize { swap("Onewrite.disable!") }
      end

      def enable!
        @lock.synchronize { swap(nil) }
      end

      # Reads the environment anew. Called once, at load.
      # @api private
      def load(env)
        @lock.synchronize do
          @from_env = OPTIONS.each_with_object({}) do |(name, (kind, _)), found|
            value = from_env(env, "ONEWRITE_#{name.to_s.upcase}", kind)
            found[name] = value unless value.nil?
          end
          swap(from_env(env, "ONEWRITE_DISABLED", :boolean) ? "ONEWRITE_DISABLED" : nil)
        end
      end

      private

      def swap(disabled_by)
        defaults = Hash[OPTIONS.map { |name, (_, default)| [name, default] }]
        @current = new(defaults.merge(@from_env).merge(@in_code), disabled_by)
        @watchers.each { |watcher| watcher.call(@current) }
      end

      def check(name, value)
        kind, = OPTIONS.fetch(name) do
          raise ConfigurationError, "onewrite has no option #{name.inspect}; it has #{OPTIONS.keys.join(", ")}"
        end
        return if value.nil?

        if kind == :boolean
          return if [true, false].include?(value)

          raise ConfigurationError, "#{name} is true or false, not #{value.inspect}"
        end
        return if value.is_a?(Integer) && kind.cover?(value)

        raise ConfigurationError, "#{name} is an Integer from #{kind.min} to #{kind.max}, not #{value.inspect}"
      end

      # An empty value counts as unset, and so does a bad one, after a warning.
      def from_env(env, variable, kind)
        text = env[variable].to_s.strip
        return nil if text.empty?

        if kind == :boolean
          return WORDS[text.downcase] if WORDS.key?(text.downcase)

          warn "onewrite: #{variable}=#{text.inspect} is neither true nor false and is ignored"
        else
          return text.to_i if text =~ /\A\d{1,9}\z/ && kind.cover?(text.to_i)

          warn "onewrite: #{variable}=#{text.inspect} is no number from #{kind.min} to #{kind.max} and is ignored"
        end
        nil
      end
    end

    load(ENV)
  end
end
