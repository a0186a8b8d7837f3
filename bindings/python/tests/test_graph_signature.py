"""Signatures of programs: the classes and names of the inputs and outputs of the graph, as in PyTorch."""

import libtensor as torch
from libtensor import nn
from libtensor.export import Dim, export
from libtensor.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from libtensor.export.signature import read_signature


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("q", torch.zeros(3), persistent=False)
        self.c = torch.ones(3)

    def forward(self, x, d, k, name, *, flag):
        self.n.add_(x.sum(0))
        return x + d["a"] * self.w + self.c + self.q, None, name, 5, x.shape[0], x.shape[1], True, 2.5, [x.shape[0] * 2], {"z": None}


def make_program():
    shape = {0: Dim("N")}
    arguments = torch.ones(4, 3), {"b": [torch.ones(4, 3)], "a": torch.ones(4, 3)}, 2.5, "s"
    return export(Mixed(), arguments, {"flag": True}, dynamic_shapes=(shape, {"b": [shape], "a": shape}, None, None, None))


def test_every_argument_has_a_class_and_a_name():
    program = make_program()
    found = [(s.arg, s.kind, s.target, s.persistent) for s in program.graph_signature.input_specs]
    assert found == [
        (TensorArgument("p_w"), InputKind.PARAMETER, "w", None),
        (TensorArgument("b_n"), InputKind.BUFFER, "n", True),
        (TensorArgument("b_q"), InputKind.BUFFER, "q", False),
        (TensorArgument("c_c"), InputKind.CONSTANT_TENSOR, "c", None),
        (TensorArgument("x"), InputKind.USER_INPUT, None, None),
        (TensorArgument("d_b_0"), InputKind.USER_INPUT, None, None),
        (TensorArgument("d_a"), InputKind.USER_INPUT, None, None),
        (ConstantArgument("k", 2.5), InputKind.USER_INPUT, None, None),
        (ConstantArgument("name", "s"), InputKind.USER_INPUT, None, None),
        (ConstantArgument("flag", True), InputKind.USER_INPUT, None, None),
    ]
    outputs = [s.arg for s in program.graph_signature.output_specs]
    classes = [TensorArgument, *[ConstantArgument] * 3, SymIntArgument, *[ConstantArgument] * 3, SymIntArgument, ConstantArgument]
    assert list(map(type, outputs)) == classes
    assert [x.value for x in outputs if isinstance(x, ConstantArgument)] == [None, "s", 5, 3, True, 2.5, None]
    assert all(x.name == "" for x in outputs if isinstance(x, ConstantArgument))
    names = {x.name for x in outputs if not isinstance(x, ConstantArgument)}
    assert len(names) == 3 and all(name in str(program) for name in names)


def test_the_signature_lists_names_and_values_of_constants():
    signature = make_program().graph_signature
    assert signature.user_inputs == ("x", "d_b_0", "d_a", 2.5, "s", True)
    names = [x.arg.name for x in signature.output_specs]
    assert signature.user_outputs == (names[0], None, "s", 5, names[4], 3, True, 2.5, names[8], None)
    assert signature.inputs_to_parameters == {"p_w": "w"} and signature.inputs_to_buffers == {"b_n": "n", "b_q": "q"}
    assert signature.inputs_to_lifted_tensor_constants == {"c_c": "c"} and signature.lifted_custom_objs == ()
    assert signature.input_tokens == signature.output_tokens == () and signature.inputs_to_lifted_custom_objs == {}
    assert {type(name) for name in [*signature.user_inputs[:3], *signature.inputs_to_buffers]} == {str}
    decomposed = make_program().run_decompositions().graph_signature
    ((name, target),) = decomposed.buffers_to_mutate.items()
    assert target == "n" and decomposed.output_specs[0] == OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(name), "n")


def test_a_signature_is_shown_as_in_pytorch():
    inputs = [
        InputSpec(InputKind.BUFFER, TensorArgument("b_n"), "n", True),
        InputSpec(InputKind.USER_INPUT, ConstantArgument("k", 2), None),
    ]
    signature = ExportGraphSignature(inputs, [OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", None), None)])
    assert str(signature) == "\n# inputs\nb_n: BUFFER target='n' persistent=True\nk: USER_INPUT\n\n# outputs\n: USER_OUTPUT\n"
    shown = "InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_n'), target='n', persistent=True)"
    assert repr(inputs[0]) == shown
    assert "Graph signature: \n# inputs\np_w: PARAMETER target='w'\n" in str(make_program())


def test_values_of_files_are_names_or_constants():
    values = [
        {"as_tensor": {"name": "x"}},
        {"as_sym_int": {"as_name": "n"}},
        {"as_sym_int": {"as_int": 7}},
        {"as_sym_float": {"as_name": "f"}},
    ]
    values += [{"as_sym_bool": {"as_name": "b"}}, {"as_none": True}, {"as_custom_obj": {"name": "o", "class_fqn": "C"}}]
    text = {"input_specs": [], "output_specs": [{"user_output": {"arg": value}} for value in values] + [{"token": {"arg": {"name": "t"}}}]}
    expected = [TensorArgument("x"), SymIntArgument("n"), ConstantArgument("", 7), SymFloatArgument("f"), SymBoolArgument("b")]
    expected += [ConstantArgument("", None), CustomObjArgument("o", "C"), TokenArgument("t")]
    signature = read_signature(text)
    assert [s.arg for s in signature.output_specs] == expected
    assert signature.user_outputs == ("x", "n", 7, "f", "b", None, "o") and signature.output_tokens == ("t",)
