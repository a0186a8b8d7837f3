"""Names of functorch.compile: graphs are not compiled."""

from ..._inert import declare_unsupported

__all__ = declare_unsupported(
    globals(),
    "graphs are not compiled",
    "aot_function aot_module aot_module_simplified compiled_function compiled_module debug_compile default_decompositions "
    "default_partition "
    "draw_graph draw_graph_compile get_aot_compilation_context get_aot_graph_name get_graph_being_compiled make_boxed_compiler "
    "make_boxed_func "
    "memory_efficient_fusion min_cut_rematerialization_partition minifier nop print_compile ts_compile",
)
