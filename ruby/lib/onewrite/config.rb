# frozen_string_literal: true

require "onewrite/errors"

module Onewrite
  # One reference to a frozen object that is replaced as a whole. It needs no lock, so it can be changed in a signal handler.
  # In MRI no thread or handler runs between the comparison and the assignment. On other engines two changes in the same instant
  # may leave the last one alone.
  module Reference
    # @return [Object, nil]
    attr_reader :current

    private

    # @yieldparam before [Object, nil] what is there
    # @yieldreturn [Object, nil] what takes its place
    def replace
      loop do
        before = @current
        after = yield before
        return @current = after if @current.equal?(before)
      end
    end
  end

  # The options. The object is frozen and replaced as a whole, so a request uses either the old or the new options.
  # Code wins over the environment, the environment over the default. The environment is read once, at load.
  class Config
    # Name, kind and default of each option. The environment name is ONEWRITE_ and the name in capitals.
    OPTIONS = {
      nodelay_disabled: [:boolean, false],
      coalesce_disabled: [:boolean, false],
      hooks_disabled: [:boolean, false],
      coalesce_max: [0..16_384, 16_384],
      quickack: [:boolean, false],
      observe: [:boolean, false]
    }.freeze
    DEFAULTS = Hash[OPTIONS.map { |name, (_, default)| [name, default] }].freeze

    # Values of a switch in the environment, in upper or lower case.
    WORDS = { "1" => true, "true" => true, "yes" => true, "on" => true,
              "0" => false, "false" => false, "no" => false, "off" => false }.freeze
    private_constant :DEFAULTS, :WORDS

    # @return [Hash{Symbol => Object}] options by name
    attr_reader :to_h
    # @return [Boolean] whether hooks are called
    attr_reader :hooks
    # @return [Boolean] whether sockets, writes and closing are the adapter's: it is enabled and does not only observe
    attr_reader :wire
    # @return [Integer] most bytes to join; 0 where nothing is to be joined
    attr_reader :join_max
    attr_reader :enabled, :nodelay, :quickack, :disabled_by, :from_env, :in_code

    def initialize(from_env, in_code, disabled_by)
      @from_env = from_env.freeze
      @in_code = in_code.freeze
      @disabled_by = disabled_by
      @to_h = values = DEFAULTS.merge(from_env).merge(in_code).freeze
      @enabled = disabled_by.nil?
      @hooks = @enabled && !values[:hooks_disabled]
      @wire = @enabled && !values[:observe]
      @nodelay = @wire && !values[:nodelay_disabled]
      @join_max = @wire && !values[:coalesce_disabled] ? values[:coalesce_max] : 0
      @quickack = @wire && values[:quickack]
      freeze
    end

    @watchers = [].freeze

    class << self
      include Reference

      def update(options)
        options.each { |name, value| check(name, value) }
        change { |now| [now.from_env, now.in_code.merge(options).reject { |_, value| value.nil? }, now.disabled_by] }
      end

      # Calls the block with the options, now and after each change.
      # @yieldparam config [Config]
      def watch(&block)
        @watchers = (@watchers + [block]).freeze
        yield @current
      end

      def disable!
        change { |now| [now.from_env, now.in_code, "Onewrite.disable!"] }
      end

      def enable!
        change { |now| [now.from_env, now.in_code, nil] }
      end

      # Reads the environment anew. Called once, at load.
      # @api private
      def load(env)
        from_env = OPTIONS.each_with_object({}) do |(name, (kind, _)), values|
          value = from_env(env, "ONEWRITE_#{name.to_s.upcase}", kind)
          values[name] = value unless value.nil?
        end
        disabled = from_env(env, "ONEWRITE_DISABLED", :boolean)
        change { |now| [from_env, now ? now.in_code : {}, ("ONEWRITE_DISABLED" if disabled)] }
      end

      private

      def change
        replace { |now| new(*yield(now)) }
        @watchers.each { |watcher| watcher.call(@current) }
      end

      def check(name, value)
        kind, = OPTIONS.fetch(name) do
          raise ConfigurationError, "onewrite has no option #{name.inspect}; it has #{OPTIONS.keys.join(", ")}"
        end
        raise ConfigurationError, "#{name} is #{words(kind)}, not #{value.inspect}" unless value.nil? || valid?(kind, value)
      end

      # An empty value counts as unset, and so does a bad one, after a warning.
      def from_env(env, variable, kind)
        text = env[variable].to_s.dup.force_encoding(Encoding::BINARY).strip # it may be in no encoding; Ruby 1.9 lacks `b`
        return nil if text.empty?

        value = kind == :boolean ? WORDS[text.downcase] : (text.to_i if text =~ /\A\d{1,9}\z/)
        return value if valid?(kind, value)

        warn "onewrite: #{variable}=#{text.inspect} is not #{words(kind)} and is ignored"
      end

      def valid?(kind, value)
        kind == :boolean ? [true, false].include?(value) : value.is_a?(Integer) && kind.cover?(value)
      end

      def words(kind)
        kind == :boolean ? "true or false" : "an Integer from #{kind.min} to #{kind.max}"
      end
    end

    load(ENV)
  end
end
