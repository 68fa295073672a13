"""Pure policy: data in, decision and reason out. No I/O, no clocks, no store, no model files."""
