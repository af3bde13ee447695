"""A study's page: charts, words and tables in one file that needs no network."""
