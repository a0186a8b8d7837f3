"""The check of the lengths of Go's lines."""

from columns import LIMIT, long_lines


def test_only_strings_may_cross_the_limit() -> None:
    text = "x" * 200
    assert long_lines(f"// {text}\nshort\n{text}\n") == [1, 3]
    assert long_lines(f'return f("{text}")\nreturn f(`{text}\nb`, 1)') == []
    assert long_lines(f'return f("{"x" * 100}", {text})') == [1]


def test_a_string_may_end_at_the_limit_with_punctuation_after_it() -> None:
    assert long_lines(f'"{"x" * (LIMIT - 2)}",') == []
    assert long_lines(f'"{"x" * (LIMIT - 4)}", x') == [1]
