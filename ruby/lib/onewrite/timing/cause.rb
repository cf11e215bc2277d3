# frozen_string_literal: true

module Onewrite
  # The name of a long wait. The rule is that of all languages (spec/testdata/causes.json).
  module Cause
    # Waits from here on are given a cause; a hold that is shorter explains none.
    LONG_NS = 20_000_000

    # @param evidence [KernelEvidence] of a wait that was long
    # @param writes [Integer, nil] of the request
    # @param nodelay [Boolean, nil] whether TCP_NODELAY was on
    # @return [Symbol, nil]
    def self.of(evidence, writes, nodelay)
      hold = evidence.send_hold_ns
      return :server if hold < LONG_NS
      # Before the lost segment: probes of a closed window count as segments sent again.
      return :peer_window if evidence.window_closed_ns > hold / 2
      return :retransmit if evidence.retransmits.positive?

      # Nagle holds a small segment behind another. One write alone has none before it, and with TCP_NODELAY nothing is
      # held: then it was pacing, a queue or the network.
      :nagle_delayed_ack if writes.to_i > 1 && nodelay == false
    end
  end
end
