"""Operators on lists of tensors, which stubs leave out."""

from typing import Any

from .._gen import gen_functions

_functions: Any = gen_functions

foreach_abs = _functions.foreach_abs
foreach_add = _functions.foreach_add
foreach_add_ = _functions.foreach_add_
foreach_addcdiv_ = _functions.foreach_addcdiv_
foreach_addcmul = _functions.foreach_addcmul
foreach_addcmul_ = _functions.foreach_addcmul_
foreach_clamp_max_ = _functions.foreach_clamp_max_
foreach_clamp_min_ = _functions.foreach_clamp_min_
foreach_copy_ = _functions.foreach_copy_
foreach_div = _functions.foreach_div
foreach_lerp_ = _functions.foreach_lerp_
foreach_maximum_ = _functions.foreach_maximum_
foreach_mul = _functions.foreach_mul
foreach_mul_ = _functions.foreach_mul_
foreach_neg = _functions.foreach_neg
foreach_norm = _functions.foreach_norm
foreach_sign = _functions.foreach_sign
foreach_sqrt = _functions.foreach_sqrt
fused_adagrad_ = _functions.fused_adagrad_
fused_adam_ = _functions.fused_adam_
fused_adamw_ = _functions.fused_adamw_
fused_sgd_ = _functions.fused_sgd_
