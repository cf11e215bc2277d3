# frozen_string_literal: true

module Onewrite
  # Why a wait was long. The rule is that of all languages (spec/testdata/causes.json).
  module Cause
    # Shorter waits are given no cause, and a shorter hold explains none.
    LONG_NS = 20_000_000

    # @param evidence [KernelEvidence] of a wait that was long
    # @return [Symbol, nil]
    def self.of(evidence, writes, nodelay)
      hold = evidence.send_hold_ns
      return :server if hold < LONG_NS
      # Before :retransmit, because the kernel counts probes of a closed window as retransmits.
      return :peer_window if evidence.window_closed_ns > hold / 2
      return :retransmit if evidence.retransmits > 0

      # Nagle's algorithm holds a small segment while another is unacknowledged. A single write has none before it, and with
      # TCP_NODELAY nothing is held: then it was pacing, a queue or the network.
      :nagle_delayed_ack if writes.to_i > 1 && nodelay == false
    end
  end
end
