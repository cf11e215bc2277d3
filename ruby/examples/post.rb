# frozen_string_literal: true

# POSTs to a URL and prints where the time went.
# usage: ruby -I lib examples/post.rb URL

require "onewrite"

Onewrite.on_timing { |record| puts record }
url = URI(ARGV.fetch(0) { abort "usage: ruby -I lib examples/post.rb URL" })

Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == "https") do |http|
  3.times { http.post(url.request_uri, '{"hello": "world"}', "Content-Type" => "application/json") }
end
