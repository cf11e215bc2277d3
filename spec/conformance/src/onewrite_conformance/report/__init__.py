"""Results for people and machines: console, JUnit XML, COMPLIANCE.md."""
