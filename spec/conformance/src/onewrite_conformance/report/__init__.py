"""Results for people and machines: console, JSON lines, JUnit XML, COMPLIANCE.md."""
