# frozen_string_literal: true

require "excon"
require "onewrite/clients"

# TCP_NODELAY for the connections of Excon that are made from now on. A connection's own `tcp_nodelay` wins.
before = Excon.defaults[:tcp_nodelay]
Onewrite.const_get(:Clients).add("excon", Excon::VERSION, /\A(0\.([4-9]\d|1\d\d)|1\.\d+)\./) do |on|
  Excon.defaults[:tcp_nodelay] = on || before
end
