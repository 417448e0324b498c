"""Simulated agents whose results change by known laws: does a proven rule hold tomorrow?"""
