"""What the commands share: runs, servers, answers and reports. It imports none of the commands."""
