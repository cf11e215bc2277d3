# frozen_string_literal: true

# One client in a separate process. Reads lines "SIZE COUNT", sends COUNT POSTs of SIZE bytes, or GETs for 0, on one connection
# and answers with the microseconds of CPU that one of them took. usage: worker.rb VARIANT PORT [tls]

variant, port, tls = ARGV
require "net/http"
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "onewrite" unless variant.start_with?("stock")
Onewrite.on_timing { |record| record } if variant == "on_timing"

http = Net::HTTP.new("127.0.0.1", port.to_i, nil)
http.keep_alive_timeout = 60
if tls
  http.use_ssl = true
  http.verify_mode = OpenSSL::SSL::VERIFY_NONE
end
http.start
type = { "Content-Type" => "application/octet-stream" }.freeze

$stdin.each_line do |line|
  size, count = line.split.map(&:to_i)
  body = "x" * size
  before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  count.times do
    request = (size.zero? ? Net::HTTP::Get : Net::HTTP::Post).new("/", type)
    request.body = body unless size.zero?
    http.request(request)
  end
  puts ((Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before) / count * 1e6).round(2)
  $stdout.flush
end
