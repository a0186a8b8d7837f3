"""Parameters of layers with quantized weights."""
