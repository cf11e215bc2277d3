# frozen_string_literal: true

require "http"
require "onewrite/clients"

# TCP_NODELAY for the connections of http.rb that begin at `HTTP`, as HTTP.post or HTTP.persistent.
before = HTTP.default_options.nodelay
Onewrite.const_get(:Clients).add("http.rb", HTTP::VERSION, /\A[45]\./) do |on|
  HTTP.default_options = HTTP.default_options.with_nodelay(on || before)
end
