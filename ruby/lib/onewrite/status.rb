# frozen_string_literal: true

module Onewrite
  # What {Onewrite.status} tells.
  module Status
    def self.report
      settings = Settings.current
      {
        version: VERSION,
        enabled: Onewrite.enabled?,
        off_because: settings.disabled_by || Patch.why_not,
        base: { name: "net-http", version: Patch.base_version },
        patches: Patch.report,
        options: settings.to_h,
        kernel_evidence: TcpInfo::AVAILABLE,
        hooks: Hooks.current ? Hooks.current.to_a.sum(&:size) : 0,
        hook_errors: Hooks.errors,
        nodelay_failures: Nodelay.failures
      }
    end
  end
end
