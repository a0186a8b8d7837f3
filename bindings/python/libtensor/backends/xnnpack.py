"""XNNPACK is not used."""

enabled = False
