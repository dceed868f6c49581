"""The operators of programs that torch.export saved, from their archives, without PyTorch."""
