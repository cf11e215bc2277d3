"""What leaves the client, and how: no module here knows urllib3 or the timing."""
