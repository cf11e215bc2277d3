# frozen_string_literal: true

# Checks sig/ against the code: each public method has a signature, and each signature has a method. Arguments and results
# are checked against the signatures while tests run, by rbs/test (`make test`).

require "rbs"
require "onewrite"
require "onewrite/opentelemetry"

PUBLIC = [
  Onewrite, Onewrite::Hook, Onewrite::Event, Onewrite::TimingListener, Onewrite::Timing,
  Onewrite::KernelEvidence, Onewrite::NetHTTP::SessionOptions, Onewrite::ConfigurationError, Onewrite::SessionInUseError,
  Onewrite::OpenTelemetry
].freeze

# The steps of a call, which the adapter's own methods take.
LIVE = %i[
  path path= socket= conn_id= conn_requests= idle_since= proxy= index= method= tls_start= tls_end= status= response_start=
  response_end response_end= bytes_received= request_end request_end= session session= outer outer= hook hook=
  listeners listeners= attempt_to_h as_attempt name just_opened? attempt connected emit_acquired sending sent waited
  informed answered emit_headers emit_end finish emit
].freeze

loader = RBS::EnvironmentLoader.new
loader.add(library: "net-http", version: nil)
loader.add(path: Pathname(File.expand_path("../sig", __dir__)))
builder = RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)

faults = PUBLIC.flat_map do |mod|
  name = RBS::TypeName.new(name: mod.name.split("::").last.to_sym,
                           namespace: RBS::Namespace.parse("::#{mod.name.split("::")[0..-2].join("::")}"))
  singleton = [Onewrite, Onewrite::OpenTelemetry].include?(mod)
  definition = singleton ? builder.build_singleton(name) : builder.build_instance(name)
  signed = definition.methods.select { |_, method| method.defs.any? { |one| one.implemented_in == name } }.keys - [:initialize]
  there = singleton ? mod.singleton_methods(false) : mod.public_instance_methods(false)
  there -= LIVE if mod == Onewrite::Timing
  (there - signed).map { |method| "#{mod}##{method} has no signature" } +
    (signed - there).map { |method| "#{mod}##{method} is signed but does not exist" }
end
abort faults.join("\n") unless faults.empty?
puts "signatures: #{PUBLIC.size} modules agree with the code"
