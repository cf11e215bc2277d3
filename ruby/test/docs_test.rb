# frozen_string_literal: true

require_relative "support/helper"

# The code of the README and the examples runs as it is printed.
class DocsTest < OnewriteTest
  LINE = %r{^POST http://127\.0\.0\.1:\d+/\S* 200 in \d+\.\d ms: .*wait \d+\.\d.*; (?:new|reused) conn \d+$}.freeze

  def test_the_first_example_of_the_readme
    readme = File.read(File.join(ROOT, "README.md"))
    code = readme[/^## Switch on\n.*?^```ruby\n(.*?)^```/m, 1]
    out = ruby(code, env: { "ONEWRITE_EXAMPLE_URL" => tap_server.url })
    assert_match(LINE, out)
  end

  def test_the_example
    tap = tap_server
    out, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", "lib", "examples/post.rb", tap.url("/orders"), chdir: ROOT)
    assert status.success?, out
    assert_equal 3, out.scan(LINE).size
    assert_equal 1, tap.segments
  end

  def test_the_gemspec_names_every_file
    spec = Gem::Specification.load(File.join(ROOT, "onewrite.gemspec"))
    assert_equal Dir.chdir(ROOT) { Dir["lib/**/*.rb", "sig/**/*.rbs"] }.sort,
                 spec.files.grep(%r{\A(?:lib|sig)/}).sort
    assert_empty spec.runtime_dependencies
    assert_equal "true", spec.metadata["rubygems_mfa_required"]
  end

  def test_every_switch_is_in_the_readme
    readme = File.read(File.join(ROOT, "README.md"))
    %w[ONEWRITE_DISABLED ONEWRITE_OBSERVE ONEWRITE_QUICKACK].each { |name| assert_includes readme, name }
  end
end
