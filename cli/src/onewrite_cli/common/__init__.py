"""Shared by the commands: runs, servers, answers and reports. It imports none of the commands."""
