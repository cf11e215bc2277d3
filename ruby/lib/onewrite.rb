# frozen_string_literal: true

# Patches Net::HTTP: head and body of a request leave in one write, TCP_NODELAY is on, and every request can say where
# its time went. `require "onewrite/api"` loads the same without patching; {Onewrite.enable!} then patches.
require "onewrite/api"

Onewrite::Install.install
