"""Where the time of a request went: records, events, hooks. No module here knows urllib3 or the wire."""
