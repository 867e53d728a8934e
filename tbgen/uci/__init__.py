"""Engines that speak UCI, as this program starts and uses them."""
