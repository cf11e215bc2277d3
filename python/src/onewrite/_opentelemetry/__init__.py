"""What onewrite reports to OpenTelemetry."""
