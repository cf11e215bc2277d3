"""In front of httpcore, and of httpcore2, which has the same public interface."""
