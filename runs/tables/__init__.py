"""The one reader of tables: text, Parquet, Arrow or JSON, with a role for every column."""
