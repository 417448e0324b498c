"""Rules and calls to outcomes: would the stored results have matched?"""
