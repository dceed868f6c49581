"""The validation of results: types of records that the node fills and the login side reads."""
