# frozen_string_literal: true

module Onewrite
  # Version of the gem; the four language packages carry the same.
  VERSION = "0.1.0"
end
