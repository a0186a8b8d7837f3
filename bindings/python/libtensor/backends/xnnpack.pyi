enabled: bool
