# frozen_string_literal: true

require "excon"
require "onewrite/api"

# TCP_NODELAY for the connections of Excon that are made from now on. A connection's own `tcp_nodelay` wins.
before = Excon.defaults[:tcp_nodelay]
Onewrite.const_get(:Clients).add("excon", Excon::VERSION, Excon.defaults.key?(:tcp_nodelay)) do |on|
  Excon.defaults[:tcp_nodelay] = on || before
end
