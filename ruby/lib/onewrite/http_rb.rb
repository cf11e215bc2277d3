# frozen_string_literal: true

require "http"
require "onewrite/api"

# TCP_NODELAY for the connections of http.rb that begin at `HTTP`, as HTTP.post or HTTP.persistent.
options = HTTP.default_options
able = HTTP.respond_to?(:default_options=) && options.respond_to?(:with_nodelay) && options.respond_to?(:nodelay)
before = options.nodelay if able
Onewrite.const_get(:Clients).add("http.rb", HTTP::VERSION, able) do |on|
  HTTP.default_options = HTTP.default_options.with_nodelay(on || before)
end
