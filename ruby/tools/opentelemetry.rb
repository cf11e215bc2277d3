# frozen_string_literal: true

# Unpacks OpenTelemetry's gems for Ruby from clones of their repositories, each in the newest release that says it runs on
# this Ruby, and prints their lib folders. They are not part of this repository.
# usage: tools/opentelemetry.rb [RUBY-VERSION]      exit: 3 where there are no clones

require "English"
require "fileutils"

CLONES = ENV.fetch("OTEL_RUBY_SRC") { File.expand_path("../../build/outside/opentelemetry-ruby", __dir__) }
CONTRIB = ENV.fetch("OTEL_RUBY_CONTRIB_SRC", "#{CLONES}-contrib")
RUBY = Gem::Version.new(ARGV.fetch(0, RUBY_VERSION))
INTO = File.expand_path("../.opentelemetry", __dir__)

# Gem, without "opentelemetry-", and its folder in the repository.
GEMS = {
  CLONES => { "api" => "api", "common" => "common", "registry" => "registry", "semantic_conventions" => "semantic_conventions",
              "sdk" => "sdk", "logs-api" => "logs_api", "logs-sdk" => "logs_sdk", "metrics-api" => "metrics_api",
              "metrics-sdk" => "metrics_sdk" },
  CONTRIB => { "instrumentation-base" => "instrumentation/base", "instrumentation-net_http" => "instrumentation/net_http" }
}.freeze

# safe.directory, because the clones may belong to another user.
def git(clone, *words)
  out = IO.popen(["git", "-c", "safe.directory=*", "-C", clone, *words], err: File::NULL, &:read)
  $CHILD_STATUS.success? ? out : ""
end

def runs_here?(clone, tag, gem, folder)
  wanted = git(clone, "show", "#{tag}:#{folder}/opentelemetry-#{gem}.gemspec")[/required_ruby_version = ['"](>= [\d.]+)['"]/, 1]
  wanted ||= ">= #{git(clone, "show", "#{tag}:gemspecs/RUBY_REQUIREMENT").strip}"
  Gem::Requirement.new(wanted).satisfied_by?(RUBY)
end

def newest(clone, tags, gem, folder)
  found = tags.grep(%r{\Aopentelemetry-#{gem}/v[\d.]+\z}).sort_by { |tag| Gem::Version.new(tag[/[\d.]+\z/]) }.reverse
  found.find { |tag| runs_here?(clone, tag, gem, folder) } or abort "no opentelemetry-#{gem} for Ruby #{RUBY} in #{clone}"
end

def unpack(clone, tag, folder)
  into = File.join(INTO, tag.sub("/v", "-"))
  unless File.exist?(into)
    FileUtils.mkdir_p(fresh = "#{into}.#{Process.pid}")
    packed = git(clone, "archive", tag, "#{folder}/lib")
    IO.popen(["tar", "-x", "--strip-components=#{folder.count("/") + 2}", "-C", fresh], "wb") { |tar| tar.write(packed) }
    File.rename(fresh, into)
  end
  into
end

unless GEMS.keys.all? { |clone| File.directory?(clone) }
  warn "#{CLONES} and #{CONTRIB} are not there: clone https://github.com/open-telemetry/opentelemetry-ruby and " \
       "opentelemetry-ruby-contrib to them, or name clones by OTEL_RUBY_SRC and OTEL_RUBY_CONTRIB_SRC"
  exit 3
end

GEMS.each do |clone, gems|
  tags = git(clone, "tag").split
  gems.each { |gem, folder| puts unpack(clone, newest(clone, tags, gem, folder), folder) }
end
