"""Models that PyTorch alone runs: those of torchvision, timm and transformers, and those of the user's functions."""
