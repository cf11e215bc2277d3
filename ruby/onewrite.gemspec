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
  spec.required_ruby_version = ">= 1.9.3"
  spec.require_paths = ["lib"]
  spec.files = %w[
    LICENSE README.md sig/onewrite.rbs lib/onewrite.rb lib/onewrite/base_version.rb lib/onewrite/config.rb
    lib/onewrite/errors.rb lib/onewrite/install.rb lib/onewrite/legacy.rb lib/onewrite/net_http/patch.rb
    lib/onewrite/net_http/request.rb lib/onewrite/net_http/response.rb lib/onewrite/net_http/session.rb
    lib/onewrite/net_http/socket.rb lib/onewrite/opentelemetry.rb lib/onewrite/timing/hooks.rb
    lib/onewrite/timing/kernel.rb lib/onewrite/timing/record.rb lib/onewrite/version.rb lib/onewrite/wire/coalesce.rb
    lib/onewrite/wire/nodelay.rb
  ]
  spec.extra_rdoc_files = ["README.md"]
end
