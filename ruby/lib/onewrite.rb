# frozen_string_literal: true

# Patches Net::HTTP: head and body of a request leave in one write, TCP_NODELAY is on, and every request can say where
# its time went. `require "onewrite/api"` loads the same without patching; {Onewrite.enable!} then patches.
#
# Ruby 1.9.3 and 2.0, and JRuby 1.7, get the first two of these, see {Onewrite::Legacy}.
if RUBY_VERSION < "2.1"
  require "onewrite/legacy"
else
  require "onewrite/api"
  Onewrite.const_get(:Install).install
end
