# frozen_string_literal: true

# Patches Net::HTTP: head and body of a request leave in one write, and a record says where the time of each request went.
#
#   require "onewrite"
#   Onewrite.on_timing { |record| puts record }
#
# Ruby 1.9.3 and 2.0, and JRuby 1.7, get the first of these and TCP_NODELAY, see {Onewrite::Legacy}.
if defined?(Onewrite) && Onewrite.respond_to?(:status)
  # Two copies would patch the same methods and call one another without end.
  warn "onewrite: loaded already; the copy at #{__FILE__} stays off"
elsif RUBY_VERSION < "2.1"
  require "onewrite/legacy"
else
  require "onewrite/install"
  Onewrite.install
end
