"""What is recorded of trainings on several ranks: types that the node fills and the login side reads."""
