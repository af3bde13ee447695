"""What binds a running deployment, which lever comes next, and what it should gain."""
