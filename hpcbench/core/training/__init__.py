"""What is recorded of trainings: types that the node fills and the login side reads."""
