# frozen_string_literal: true

require_relative "lib/onewrite/version"

Gem::Specification.new do |spec|
  spec.name = "onewrite"
  spec.version = Onewrite::VERSION
  spec.summary = "Net::HTTP requests in one write, at once, and where their time went"
  spec.description = "Patches Net::HTTP so that head and body of a request leave in one write with TCP_NODELAY on, and " \
                     "so that each request can say where its time went: connect, tls, send, wait, receive, and on " \
                     "Linux whether the kernel held it back. Ends the 40 ms (on other systems up to 200 ms) that Nagle's " \
                     "algorithm and a delayed ACK cost a POST. No dependency."
  spec.authors = ["The onewrite authors"]
  spec.license = "Apache-2.0"
  spec.homepage = "https://github.com/onewrite/onewrite"
  spec.metadata = {
    "source_code_uri" => "#{spec.homepage}/tree/main/ruby",
    "changelog_uri" => "#{spec.homepage}/blob/main/CHANGELOG.md",
    "documentation_uri" => "#{spec.homepage}/blob/main/ruby/README.md",
    "bug_tracker_uri" => "#{spec.homepage}/issues",
    "rubygems_mfa_required" => "true"
  }
  spec.required_ruby_version = ">= 2.5"
  spec.require_paths = ["lib"]
  spec.files = %w[
    LICENSE README.md sig/onewrite.rbs
    lib/onewrite.rb lib/onewrite/api.rb lib/onewrite/attempt.rb lib/onewrite/call.rb lib/onewrite/clock.rb
    lib/onewrite/connection.rb lib/onewrite/counter.rb lib/onewrite/errors.rb lib/onewrite/event.rb
    lib/onewrite/failure.rb lib/onewrite/floor.rb lib/onewrite/held_socket.rb lib/onewrite/hooks.rb
    lib/onewrite/kernel_evidence.rb lib/onewrite/nodelay.rb lib/onewrite/origin.rb lib/onewrite/patch.rb
    lib/onewrite/patch/header.rb lib/onewrite/patch/request.rb lib/onewrite/patch/response.rb
    lib/onewrite/patch/session.rb lib/onewrite/patch/stock.rb lib/onewrite/patch/target.rb
    lib/onewrite/patch/timed_session.rb lib/onewrite/phases.rb lib/onewrite/prompt.rb lib/onewrite/settings.rb
    lib/onewrite/status.rb lib/onewrite/tcp_info.rb lib/onewrite/timing.rb lib/onewrite/timing/mappers.rb
    lib/onewrite/timing/redaction.rb lib/onewrite/told_call.rb lib/onewrite/version.rb
  ]
  spec.extra_rdoc_files = ["README.md"]
end
