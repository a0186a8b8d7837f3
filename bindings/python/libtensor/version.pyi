__version__: str
cuda: str | None
hip: str | None
rocm: str | None
xpu: str | None
debug: bool
git_version: str
