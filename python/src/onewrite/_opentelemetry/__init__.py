"""What onewrite tells OpenTelemetry. Imported by ``onewrite.opentelemetry`` alone."""
