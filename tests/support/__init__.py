"""Builders, fakes and harnesses that several tests share."""
