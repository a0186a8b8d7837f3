"""Names of passes over graphs of modules, which are not supported."""

from ...._inert import refuse

refuse(globals(), "graphs of modules are not supported", "PassBase PassResult")
