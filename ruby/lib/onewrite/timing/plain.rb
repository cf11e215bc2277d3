# frozen_string_literal: true

module Onewrite
  # The forms of a record, an event and the kernel's evidence beside `to_h`: each shows what that has, and no variables.
  module Plain
    # @return [Hash] without what is nil
    # @api private
    def self.known(fields)
      fields.reject { |_, value| value.nil? }
    end

    # For ActiveSupport.
    # @return [Hash]
    def as_json(*options)
      hash = to_h
      hash.respond_to?(:as_json) ? hash.as_json(*options) : hash
    end

    # For the library json.
    # @return [String]
    def to_json(*state)
      to_h.to_json(*state)
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{to_h}>"
    end
  end
end
