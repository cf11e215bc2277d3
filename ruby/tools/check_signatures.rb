# frozen_string_literal: true

# Checks sig/ against the code: each public method has a signature, and each signature has a method. Arguments and results
# are checked against the signatures while tests run, by rbs/test (`make test`).

require "rbs"
require "onewrite"
require "onewrite/opentelemetry"

PUBLIC = [Onewrite, Onewrite::Hook, Onewrite::Record, Onewrite::KernelEvidence, Onewrite.const_get(:SessionHook),
          Onewrite::OpenTelemetry].freeze

# Names that follow "@api private" in the record: set by the adapter while a request runs.
LIVE = File.read(File.expand_path("../lib/onewrite/timing/record.rb", __dir__))
           .scan(/@api private\n +(?:def|attr_\w+) ([\w:, ]+)/).join(",").scan(/\w+/).flat_map { |name| [name, "#{name}="] }
           .map(&:to_sym)

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
  there -= LIVE - signed if mod == Onewrite::Record
  (there - signed).map { |method| "#{mod}##{method} has no signature" } +
    (signed - there).map { |method| "#{mod}##{method} is signed but does not exist" }
end
abort faults.join("\n") unless faults.empty?
puts "signatures: #{PUBLIC.size} modules agree with the code"
