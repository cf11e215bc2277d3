"""What a scenario measures: POSTs in turns, constant rates, waits that are not the client's, JMH."""
