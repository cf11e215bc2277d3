# frozen_string_literal: true

# Checks the requires of lib/: a file that uses a constant requires the file that defines it; requires go one way (net_http,
# then timing and wire, then config, errors and base_version); there are no cycles.

LIB = File.expand_path("../lib", __dir__)
FILES = Dir.chdir(LIB) { Dir["**/*.rb"] }.map { |file| [file.delete_suffix(".rb"), File.read(File.join(LIB, file))] }.to_h.freeze
# A folder may require folders further down, and itself.
ROOMS = [
  %w[onewrite/opentelemetry], %w[onewrite], %w[onewrite/legacy], %w[onewrite/install],
  %r{\Aonewrite/net_http/}, %r{\Aonewrite/(timing|wire)/}, //
].freeze

def room(file)
  ROOMS.index { |room| room.is_a?(Regexp) ? room.match?(file) : room.include?(file) }
end

def folder(file)
  file.split("/")[1...-1]
end

requires = FILES.transform_values { |text| text.scan(%r{^require "(onewrite[/\w]*)"}).flatten }
shared = FILES.reject { |file, _| file == "onewrite/legacy" }
homes = shared.flat_map { |file, text| text.scan(/^ +(?:class|module) (\w+)/).flatten.map { |name| [name, file] } }
              .reject { |name, _| %w[Onewrite NetHTTP OpenTelemetry Wire].include?(name) }.to_h

faults = requires.flat_map do |file, required|
  code = FILES[file].gsub(/(^|\s)#\s.*$/, "").gsub(/"[^"]*"/, '""')
  used = homes.select { |name, home| home != file && code.match?(/(?<![\w:.])(?:NetHTTP::|Wire::)?#{name}(?!\w)(?! *=[^=])/) }
  missing = used.values.uniq - required
  wrong = required.select { |one| room(one) < room(file) || (room(one) == room(file) && folder(one) != folder(file)) }
  missing.map { |one| "#{file} uses #{used.key(one)} and does not require #{one}" } +
    wrong.map { |one| "#{file} must not know #{one}" } + (required - FILES.keys).map { |one| "#{file}: no #{one}" }
end

visit = lambda do |file, path|
  next faults << "a circle: #{[*path, file].drop_while { |one| one != file }.join(" > ")}" if path.include?(file)

  requires.fetch(file, []).each { |one| visit.call(one, [*path, file]) }
end
FILES.each_key { |file| visit.call(file, []) }

abort faults.uniq.sort.join("\n") unless faults.empty?
puts "requires: #{FILES.size} files, one way, no circle"
