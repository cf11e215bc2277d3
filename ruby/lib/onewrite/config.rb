# frozen_string_literal: true

module Onewrite
  # The three switches. The environment is read once, at load: ONEWRITE_DISABLED, ONEWRITE_OBSERVE, ONEWRITE_QUICKACK.
  # {Onewrite.install} may set the last two.
  #
  # The file is kept to the syntax of Ruby 1.9 ({Legacy}).
  module Config
    # Values of a switch, in upper or lower case.
    WORDS = { "1" => true, "true" => true, "yes" => true, "on" => true,
              "0" => false, "false" => false, "no" => false, "off" => false, "" => false }.freeze
    private_constant :WORDS

    class << self
      # @return [Boolean] whether nothing is patched
      attr_reader :disabled
      # @return [Boolean] whether writes, sockets and connections stay Net::HTTP's, and only hooks work
      attr_accessor :observe
      # @return [Boolean] whether TCP_QUICKACK is set after each request (Linux)
      attr_accessor :quickack

      # @param env [#[]] ENV, or what stands in for it
      def load(env)
        @disabled, @observe, @quickack = %w[DISABLED OBSERVE QUICKACK].map { |name| switch(env, "ONEWRITE_#{name}") }
      end

      private

      # A bad value counts as unset, after a warning.
      def switch(env, name)
        text = env[name].to_s.dup.force_encoding(Encoding::BINARY).strip # it may be in no encoding
        WORDS.fetch(text.downcase) do
          warn "onewrite: #{name}=#{text.inspect} is not true or false and is ignored"
          false
        end
      end
    end

    load(ENV)
  end
end
