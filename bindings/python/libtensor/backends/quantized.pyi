engine: str
supported_engines: list[str]
