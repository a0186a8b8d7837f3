package ops_test

import (
	"slices"
	"testing"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// particular are the arguments that no rule makes: by operator and argument, of a profile.
var particular = map[string]func(p profile, t *testing.T) map[string]any{
	"scatter_src_reduce":   func(profile, *testing.T) map[string]any { return map[string]any{"reduce": "add"} },
	"scatter_value_reduce": func(profile, *testing.T) map[string]any { return map[string]any{"reduce": "add"} },
	"repeat_interleave_tensor": func(_ profile, t *testing.T) map[string]any {
		return map[string]any{"repeats": given(t, dtype.Int64, []int64{1}, 2)}
	},
	"rot90":           func(profile, *testing.T) map[string]any { return map[string]any{"dims": []int64{0, 1}} },
	"constant_pad_nd": func(profile, *testing.T) map[string]any { return map[string]any{"pad": []int64{1, -1}} },
	"norm_name":       func(profile, *testing.T) map[string]any { return map[string]any{"p": "fro"} },
	"clamp":           func(profile, *testing.T) map[string]any { return map[string]any{"min": dtype.IntScalar(0)} },
	"clip":            func(profile, *testing.T) map[string]any { return map[string]any{"max": dtype.IntScalar(1)} },
	"clamp_tensor":    func(p profile, t *testing.T) map[string]any { return map[string]any{"min": p.tensor(t, "min")} },
	"clip_tensor":     func(p profile, t *testing.T) map[string]any { return map[string]any{"max": p.tensor(t, "max")} },
	"narrow_tensor": func(_ profile, t *testing.T) map[string]any {
		return map[string]any{"start": given(t, dtype.Int64, nil, 1)}
	},
	"diagonal":      func(profile, *testing.T) map[string]any { return map[string]any{"dim1": int64(0)} },
	"diagonal_copy": func(profile, *testing.T) map[string]any { return map[string]any{"dim1": int64(0)} },
	"tensor_split_tensor": func(_ profile, t *testing.T) map[string]any {
		return map[string]any{"tensor_indices_or_sections": given(t, dtype.Int64, nil, 2)}
	},
	"quantile":                  func(p profile, t *testing.T) map[string]any { return map[string]any{"q": given(t, p.d, nil, 1)} },
	"nanquantile":               func(p profile, t *testing.T) map[string]any { return map[string]any{"q": given(t, p.d, nil, 1)} },
	"foreach_add__scalar":       inPlace,
	"foreach_sub__scalar":       inPlace,
	"foreach_mul__scalar":       inPlace,
	"foreach_clamp_max__scalar": inPlace,
	"foreach_clamp_min__scalar": inPlace,
	"foreach_maximum__scalar":   inPlace,
	"foreach_minimum__scalar":   inPlace,
	"foreach_pow__scalar": func(p profile, _ *testing.T) map[string]any {
		return map[string]any{"exponent": p.one()}
	},
	"foreach_pow__scalars": func(p profile, _ *testing.T) map[string]any {
		return map[string]any{"exponent": []dtype.Scalar{p.one(), p.one()}}
	},
	"foreach_pow_base": func(p profile, _ *testing.T) map[string]any {
		return map[string]any{"self": p.one()}
	},
	"foreach_addcmul_tensor":  listed,
	"foreach_addcmul__tensor": listed,
	"foreach_addcdiv_tensor":  listed,
	"foreach_addcdiv__tensor": listed,
	"histogramdd": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"bins": []int64{2, 3}}
	},
	"histogram_edges": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"bins": given(t, p.d, []int64{3}, 0, 1, 2)}
	},
	"histogramdd_edges": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"bins": []*tensor.Tensor{given(t, p.d, []int64{3}, 0, 1, 2), given(t, p.d, []int64{2}, 0, 1)}}
	},
	"dropout":                  trained("train"),
	"feature_dropout":          trained("train"),
	"alpha_dropout":            trained("train"),
	"feature_alpha_dropout":    trained("train"),
	"nn_dropout":               trained("training"),
	"nn_dropout1d":             trained("training"),
	"nn_dropout2d":             trained("training"),
	"nn_dropout3d":             trained("training"),
	"nn_alpha_dropout":         trained("training"),
	"nn_feature_alpha_dropout": trained("training"),
	"pixel_shuffle":            func(profile, *testing.T) map[string]any { return map[string]any{"upscale_factor": int64(1)} },
	"pixel_unshuffle":          func(profile, *testing.T) map[string]any { return map[string]any{"downscale_factor": int64(1)} },
	"channel_shuffle":          func(profile, *testing.T) map[string]any { return map[string]any{"groups": int64(1)} },
	"native_channel_shuffle":   func(profile, *testing.T) map[string]any { return map[string]any{"groups": int64(1)} },
	"embedding_renorm_": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"max_norm": 1.0, "norm_type": 2.0, "indices": given(t, dtype.Int64, []int64{2}, 0, 0)}
	},
	"conv1d":                   convolved(1),
	"conv1d_padding":           convolved(1),
	"conv2d":                   convolved(2),
	"conv2d_padding":           convolved(2),
	"conv3d":                   convolved(3),
	"conv3d_padding":           convolved(3),
	"conv_transpose1d":         convolved(1),
	"conv_transpose2d":         convolved(2),
	"conv_transpose3d":         convolved(3),
	"nn_convolution":           convolved(1),
	"nn_convolution_transpose": convolved(1),
	"nn_convolution_weight":    convolved(1),
	"conv_tbc": func(p profile, t *testing.T) map[string]any {
		cube := []int64{1, 1, 1}
		return map[string]any{"self": given(t, p.d, cube, 1), "weight": given(t, p.d, cube, 1), "bias": given(t, p.d, []int64{1}, 1),
			"pad": int64(0)}
	},
	"max_pool1d":                          pooled(1),
	"max_pool2d":                          pooled(2),
	"max_pool3d":                          pooled(3),
	"max_pool1d_with_indices":             pooled(1),
	"nn_max_pool2d_with_indices":          pooled(2),
	"nn_max_pool3d_with_indices":          pooled(3),
	"avg_pool1d":                          pooled(1),
	"nn_avg_pool2d":                       pooled(2),
	"nn_avg_pool3d":                       pooled(3),
	"adaptive_avg_pool1d":                 pooled(1),
	"nn_adaptive_avg_pool2d":              pooled(2),
	"nn_adaptive_avg_pool3d":              pooled(3),
	"adaptive_max_pool1d":                 pooled(1),
	"nn_adaptive_max_pool2d_with_indices": pooled(2),
	"nn_adaptive_max_pool3d_with_indices": pooled(3),
	"nn_lp_pool1d":                        pooled(1),
	"nn_lp_pool2d":                        pooled(2),
	"nn_lp_pool3d":                        pooled(3),
	"nn_max_unpool1d":                     pooled(1),
	"nn_max_unpool2d":                     pooled(2),
	"nn_max_unpool3d":                     pooled(3),
	"nn_largest":                          pooled(1),
	"nn_largest_places":                   pooled(1),
	"nn_add_at_places":                    pooled(1),
	"nn_average":                          pooled(1),
	"nn_average_gradient":                 pooled(1),
	"nn_unfold":                           pooled(2),
	"nn_columns":                          pooled(1),
	"nn_from_columns":                     pooled(1),
	"nn_fold": func(p profile, t *testing.T) map[string]any {
		one := []int64{1}
		return map[string]any{"self": given(t, p.d, []int64{1, 1, 1}, 1), "output_size": one, "kernel_size": one, "dilation": one,
			"padding": []int64{0}, "stride": one}
	},
	"nn_fractional_max_pool2d":              fractional(2),
	"nn_fractional_max_pool3d":              fractional(3),
	"nn_fractional_max_pool2d_with_indices": fractional(2),
	"nn_fractional_max_pool3d_with_indices": fractional(3),
	"nn_fractional_largest":                 fractional(1),
	"nn_interpolate":                        resampledCall(1),
	"nn_upsample":                           resampledCall(1),
	"nn_upsample_nearest":                   resampledCall(1),
	"nn_upsample_bilinear":                  resampledCall(2),
	"nn_resampled":                          resampledCall(2),
	"nn_resampled_back":                     resampledCall(2),
	"grid_sampler":                          sampledCall(2, "bilinear"),
	"grid_sampler_2d":                       sampledCall(2, "bilinear"),
	"grid_sampler_3d":                       sampledCall(3, "bilinear"),
	"nn_grid_sample":                        sampledCall(2, "bilinear"),
	"nn_sampled":                            sampledCall(2, int64(0)),
	"nn_sampled_spread":                     sampledCall(2, int64(0)),
	"nn_sampled_slope":                      sampledCall(2, int64(0)),
	"nn_affine_grid":                        sampledCall(2, "bilinear"),
	"affine_grid_generator":                 sampledCall(2, "bilinear"),
	"nn_one_hot":                            func(profile, *testing.T) map[string]any { return map[string]any{"num_classes": int64(300)} },
	"nn_pad":                                func(profile, *testing.T) map[string]any { return map[string]any{"pad": []int64{1, -1}} },
	"nn_pad_inside": func(profile, *testing.T) map[string]any {
		return map[string]any{"pad": []int64{1, 1}, "mode": "replicate"}
	},
	"nn_pad_rows": func(profile, *testing.T) map[string]any {
		return map[string]any{"pad": []int64{1, 1}, "mode": "replicate"}
	},
	"nn_pad_gradient": func(profile, *testing.T) map[string]any {
		return map[string]any{"pad": []int64{1, 1}, "mode": "replicate"}
	},
	"nn_pick": func(p profile, t *testing.T) map[string]any {
		call := labelled(p, t)
		return map[string]any{"dim": int64(len(p.sizes) - 1), "index": call["target"]}
	},
	"native_layer_norm":   lastNormalized,
	"layer_norm":          lastNormalized,
	"nn_layer_norm":       lastNormalized,
	"rms_norm":            lastNormalized,
	"nn_rms_norm":         lastNormalized,
	"native_group_norm":   channelsNormalized,
	"group_norm":          channelsNormalized,
	"nn_group_norm":       channelsNormalized,
	"native_batch_norm":   channelsNormalized,
	"batch_norm":          channelsNormalized,
	"nn_batch_norm":       channelsNormalized,
	"instance_norm":       channelsNormalized,
	"nn_normalize_groups": channelsNormalized,
	"nn_normalize_groups_gradient": func(p profile, t *testing.T) map[string]any {
		one := given(t, p.d, []int64{1}, 1)
		return map[string]any{"examples": int64(1), "groups": int64(1), "channels": int64(1), "mean": one, "rstd": one, "weight": one}
	},
	"nn_normalize_channels": channelsNormalized,
	"nn_normalize_channels_gradient": func(p profile, t *testing.T) map[string]any {
		if len(p.sizes) < 2 || p.sizes[1] > 100 {
			return nil
		}
		channels := profile{p.d, p.sizes[1:2], nil, onesLike}.tensor(t, "")
		return map[string]any{"mean": channels, "rstd": channels, "weight": channels}
	},
	"nn_attention_gradient": func(p profile, t *testing.T) map[string]any {
		if len(p.sizes) < 2 {
			return nil
		}
		return map[string]any{"lse": profile{p.d, p.sizes[:len(p.sizes)-1], nil, onesLike}.tensor(t, "")}
	},
	"nn_multi_head_attention_forward": func(p profile, t *testing.T) map[string]any {
		if len(p.sizes) != 2 || p.sizes[1] == 0 || p.sizes[1] > 100 {
			return nil
		}
		n, set := p.sizes[1], map[string]any{"embed_dim_to_check": p.sizes[1], "num_heads": int64(1), "is_causal": false,
			"use_separate_proj_weight": false, "dropout_p": 0.0}
		for _, name := range []string{"in_proj_bias", "bias_k", "bias_v", "out_proj_bias", "key_padding_mask", "attn_mask", "q_proj_weight",
			"k_proj_weight", "v_proj_weight", "static_k", "static_v"} {
			set[name] = (*tensor.Tensor)(nil)
		}
		set["in_proj_weight"] = profile{p.d, []int64{3 * n, n}, nil, onesLike}.tensor(t, "")
		set["out_proj_weight"] = profile{p.d, []int64{n, n}, nil, onesLike}.tensor(t, "")
		return set
	},
	"nn_linear_losses": func(p profile, t *testing.T) map[string]any {
		if len(p.sizes) != 2 || max(p.sizes[0], p.sizes[1]) > 100 {
			return nil
		}
		return map[string]any{"linear_weight": profile{p.d, []int64{2, p.sizes[1]}, nil, onesLike}.tensor(t, ""),
			"target":       profile{dtype.Int64, p.sizes[:1], nil, zeros}.tensor(t, ""),
			"ignore_index": int64(-100), "rows": int64(2)}
	},
	"nn_nll_loss":          labelled,
	"nn_multi_margin_loss": labelled,
	"nn_multilabel_margin_loss": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"target": profile{dtype.Int64, p.sizes, nil, zeros}.tensor(t, "")}
	},
	"lstm":                   recurrent(4, 1),
	"lstm_data":              recurrent(4, 1),
	"gru":                    recurrent(3, 1),
	"gru_data":               recurrent(3, 1),
	"rnn_tanh":               recurrent(1, 1),
	"rnn_tanh_data":          recurrent(1, 1),
	"rnn_relu":               recurrent(1, 1),
	"rnn_relu_data":          recurrent(1, 1),
	"lstm_cell":              recurrent(4, 0),
	"gru_cell":               recurrent(3, 0),
	"rnn_tanh_cell":          recurrent(1, 0),
	"rnn_relu_cell":          recurrent(1, 0),
	"nn_recurrence":          recurrent(1, 0),
	"nn_recurrence_gradient": recurrent(1, 0),
	"nn_recurrence_steps":    recurrent(1, 0),
	"nn_linear_rounded": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"bias": p.cut(min(1, len(p.sizes))).tensor(t, "")}
	},
	"pack_padded_sequence":  packed,
	"pad_packed_sequence":   packed,
	"nn_counts":             packed,
	"nn_conjugate":          packed,
	"nn_places":             packed,
	"ctc_loss":              aligned,
	"ctc_loss_tensor":       alignedByTensors,
	"nn_ctc_loss":           aligned,
	"nn_ctc_loss_tensor":    alignedByTensors,
	"nn_alignment":          aligned,
	"nn_alignment_gradient": aligned,
	"embedding_bag":         inBags,
	"nn_embedding_bag":      inBags,
	"nn_bag":                inBags,
	"nn_bag_maxima":         inBags,
	"nn_cosine_embedding_loss": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"target": p.cut(len(p.sizes)-1).tensor(t, "")}
	},
	"gradient_scalars": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"spacing": []dtype.Scalar{dtype.FloatScalar(2)}, "dim": []int64{0}}
	},
	"gradient_tensors": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"spacing": []*tensor.Tensor{given(t, p.d, []int64{3}, 1, 2, 4)}, "dim": []int64{0}}
	},
	"mv": func(p profile, t *testing.T) map[string]any { return map[string]any{"vec": p.cut(1).tensor(t, "")} },
	"addmv": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"self": p.cut(1).tensor(t, ""), "vec": p.cut(1).tensor(t, "")}
	},
	"addr": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"vec1": p.cut(1).tensor(t, ""), "vec2": p.cut(1).tensor(t, "")}
	},
	"addbmm": func(p profile, t *testing.T) map[string]any { return map[string]any{"self": p.cut(2).tensor(t, "")} },
	"diagonal_scatter": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"src": p.cut(len(p.sizes)-1).tensor(t, ""), "dim1": int64(0)}
	},
	"select_scatter": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"src": p.cut(len(p.sizes)-1).tensor(t, "")}
	},
	"fft_c2r": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"size": max(2*p.first()-2, 1)}
	},
	"stft": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"n_fft": int64(2), "hop_length": ops.Int(1), "center": false, "return_complex": ops.True}
	},
	"istft": func(p profile, t *testing.T) map[string]any {
		if p.d.IsComplex() && len(p.sizes) < 2 {
			p.sizes = []int64{3, 3}
		}
		n := max(2*p.cut(len(p.sizes)-1).last()-2, 1)
		return map[string]any{"self": p.tensor(t, "self"), "n_fft": n, "hop_length": ops.Int(1)}
	},
	"signal_windows_general_cosine": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"coefficients": []float64{0.5, 0.5}}
	},
	"rename":       func(p profile, _ *testing.T) map[string]any { return map[string]any{"names": dimNames(p)} },
	"refine_names": func(p profile, _ *testing.T) map[string]any { return map[string]any{"names": dimNames(p)} },
	"align_to": func(p profile, t *testing.T) map[string]any {
		self := p.tensor(t, "self")
		self.SetNames(dimNames(p))
		return map[string]any{"self": self, "names": append([]string{"other"}, dimNames(p)...)}
	},
	"unflatten_names": func(profile, *testing.T) map[string]any {
		return map[string]any{"dim": int64(0), "sizes": []int64{-1, 1}, "names": []string{"a", "b"}}
	},
	"flatten_out_dim": func(profile, *testing.T) map[string]any { return map[string]any{"end_dim": int64(-1)} },
	"flatten_dims": func(p profile, _ *testing.T) map[string]any {
		var dims []int64
		for i := range p.sizes {
			dims = append(dims, int64(i))
		}
		return map[string]any{"dims": dims}
	},
	"geometric_": func(p profile, t *testing.T) map[string]any { return map[string]any{"p": 0.5} },
	"bernoulli__tensor": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"p": given(t, dtype.Float32, nil, 1)}
	},
	"view_dtype":      func(p profile, t *testing.T) map[string]any { return map[string]any{"dtype": p.d} },
	"view_copy_dtype": func(p profile, t *testing.T) map[string]any { return map[string]any{"dtype": p.d} },
	"unravel_index": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"indices": given(t, p.d, []int64{2}, 0, 1)}
	},
	"segment_reduce": func(p profile, t *testing.T) map[string]any {
		size := int64(0)
		if len(p.sizes) > 0 {
			size = p.sizes[0]
		}
		return map[string]any{"reduce": "sum", "lengths": given(t, dtype.Int64, []int64{1}, float64(size))}
	},
	"repeat_interleave": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"repeats": given(t, p.d, []int64{3}, 1, 0, 1)}
	},
	"index_fill": func(p profile, t *testing.T) map[string]any {
		return map[string]any{"index": given(t, dtype.Int64, []int64{2}, 1, 0), "value": given(t, p.d, nil, 1)}
	},
	"cov":                           func(p profile, t *testing.T) map[string]any { return map[string]any{"correction": int64(1)} },
	"vander":                        func(p profile, t *testing.T) map[string]any { return map[string]any{"N": ops.Int(3)} },
	"cholesky":                      system,
	"linalg_cholesky":               system,
	"cholesky_inverse":              system,
	"inverse":                       system,
	"linalg_inv":                    system,
	"linalg_ldl_factor":             system,
	"linalg_lu_factor":              system,
	"lu":                            system,
	"linalg_ldl_solve":              system,
	"linalg_solve":                  system,
	"linalg_lu_solve":               system,
	"lu_unpack":                     system,
	"linalg_householder_product":    system,
	"orgqr":                         system,
	"ormqr":                         system,
	"pivots_permutation":            exchanges,
	"linalg_tensorinv":              system,
	"linalg_matrix_norm_str_ord":    system,
	"linalg_norm_ord_str":           system,
	"nuclear_norm":                  system,
	"linalg_cond_p_str":             system,
	"linalg_pinv_rcond_tensor":      tolerance,
	"linalg_matrix_rank_tol_tensor": tolerance,
	"linalg_matrix_norm":            func(profile, *testing.T) map[string]any { return map[string]any{"dim": []int64{0, 1}} },
	"lu_solve":                      solvable,
	"linalg_tensorsolve":            tensorial,
	"polygamma":                     func(p profile, t *testing.T) map[string]any { return map[string]any{"n": int64(2)} },
	"normal_size":                   func(p profile, t *testing.T) map[string]any { return map[string]any{"std": 1.0} },
	"linspace_tensor_tensor":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
	"linspace_tensor_scalar":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
	"linspace_scalar_tensor":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
	"logspace_tensor_tensor":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
	"logspace_tensor_scalar":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
	"logspace_scalar_tensor":        func(p profile, t *testing.T) map[string]any { return tensorBounds(p, t) },
}

// pooled are the arguments of an operator on the only window of an image of n dimensions.
func pooled(n int) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		one := slices.Repeat([]int64{1}, n)
		sizes := append([]int64{1, 1}, one...)
		x := given(t, p.d, sizes, 1)
		return map[string]any{"self": x, "given": x, "indices": given(t, dtype.Int64, sizes, 0), "sizes": one, "output_size": one,
			"kernel_size": one, "stride": one,
			"padding": slices.Repeat([]int64{0}, n), "dilation": one, "norm_type": 2.0, "divisor": int64(0), "divisor_override": ops.Int(1),
			"format": shape.Contiguous}
	}
}

// fractional are the arguments of an operator on a window that is the only one of an image of n dimensions.
func fractional(n int) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		one := slices.Repeat([]int64{1}, n)
		return map[string]any{"self": given(t, p.d, append([]int64{1, 1}, one...), 1), "samples": given(t, p.d, []int64{1, 1, int64(n)},
			make([]float64, n)...), "random_samples": given(t, p.d, []int64{1, 1, int64(n)}, make([]float64, n)...),
			"sizes": one, "output_size": one, "kernel_size": one}
	}
}

// resampledCall returns the arguments of an operator that resizes an image of n dimensions to its own size.
func resampledCall(n int) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		one := slices.Repeat([]int64{1}, n)
		x := given(t, p.d, append([]int64{1, 1}, one...), 1)
		return map[string]any{"self": x, "given": x, "size": one, "sizes": one, "mode": "nearest", "filter": "nearest"}
	}
}

// sampledCall are the arguments of an operator on the only point of an image of n dimensions.
func sampledCall(n int, mode any) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		one := slices.Repeat([]int64{1}, n)
		x, d := given(t, p.d, append([]int64{1, 1}, one...), 1), int64(n)
		return map[string]any{"self": x, "given": x, "grid": given(t, p.d, append(append([]int64{1}, one...), d), make([]float64, d)...),
			"theta": given(t, p.d, []int64{1, d, d + 1}, make([]float64, d*(d+1))...), "sizes": one,
			"size": append([]int64{1, 1}, one...), "mode": mode, "padding_mode": "zeros", "interpolation_mode": int64(0), "padding": int64(0)}
	}
}

// recurrent returns the arguments of a recurrent layer with one unit for one step. States have `before` dimensions before those of a
// matrix.
func recurrent(gates int64, before int) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		matrix := given(t, p.d, []int64{1, 1}, 1)
		state := given(t, p.d, append(slices.Repeat([]int64{1}, before), 1, 1), 1)
		weight := profile{p.d, []int64{gates, 1}, nil, onesLike}.tensor(t, "")
		own := map[string]any{"input": state, "data": matrix, "batch_sizes": given(t, dtype.Int64, []int64{1}, 1),
			"params":     []*tensor.Tensor{weight, weight},
			"num_layers": int64(1), "dropout": 0.0, "w_ih": weight, "w_hh": weight, "weight": weight, "hx": state, "x": matrix, "given": matrix,
			"given_hn": matrix,
			"output":   matrix, "batches": []int64{1}, "cells": "tanh"}
		for _, name := range []string{"given_cn", "gates", "kept"} {
			own[name] = profile{p.d, []int64{0, 1}, nil, onesLike}.tensor(t, "")
		}
		if gates == 4 {
			own["hx"] = []*tensor.Tensor{state, state}
		}
		return own
	}
}

// packed returns the arguments of operators that pack and pad one sequence of one step.
func packed(p profile, t *testing.T) map[string]any {
	count := given(t, dtype.Int64, []int64{1}, 1)
	return map[string]any{"input": given(t, p.d, []int64{1, 1}, 1), "data": given(t, p.d, []int64{1}, 1), "self": count, "lengths": count,
		"batch_sizes": count,
		"counts":      count, "sequences": int64(1), "total_length": int64(-1)}
}

// aligned returns the arguments of alignments (CTC losses) of one step with one label.
func aligned(p profile, t *testing.T) map[string]any {
	one := []int64{1}
	return map[string]any{"input_lengths": one, "target_lengths": one, "log_probs": given(t, p.d, []int64{1, 1, 2}, 1, 1),
		"targets": given(t, dtype.Int64, []int64{1, 1}, 1), "times": one, "labels": one,
		"blank": int64(0), "reduction": int64(1), "given": given(t, dtype.Float64, one, 1), "losses": given(t, dtype.Float64, one, 1),
		"forward": given(t, dtype.Float64, []int64{1, 1, 3}, 1, 1, 1)}
}

// alignedByTensors is aligned with lengths in tensors.
func alignedByTensors(p profile, t *testing.T) map[string]any {
	own, count := aligned(p, t), given(t, dtype.Int64, []int64{1}, 1)
	own["input_lengths"], own["target_lengths"] = count, count
	return own
}

// inBags are the arguments of a bag of one row.
func inBags(p profile, t *testing.T) map[string]any {
	zero := given(t, dtype.Int64, []int64{1}, 0)
	return map[string]any{"weight": given(t, p.d, []int64{1, 1}, 1), "indices": zero, "self": zero, "offsets": zero, "col": zero,
		"crow": given(t, dtype.Int64, []int64{2}, 0, 1),
		"mode": int64(0), "padding_idx": ops.NoInt}
}

// convolved returns the arguments of a convolution in n dimensions with one position and one kernel element.
func convolved(n int) func(p profile, t *testing.T) map[string]any {
	return func(p profile, t *testing.T) map[string]any {
		one, none := slices.Repeat([]int64{1}, n), slices.Repeat([]int64{0}, n)
		x := given(t, p.d, append([]int64{1, 1}, one...), 1)
		return map[string]any{"self": x, "weight": x, "results": x, "bias": given(t, p.d, []int64{1}, 1), "sizes": one, "stride": one,
			"padding": none, "dilation": one, "output_padding": none, "groups": int64(1), "format": shape.Contiguous}
	}
}

// regular is a matrix that can be factored, inverted and solved with.
func (p profile) regular(t *testing.T) *tensor.Tensor {
	return given(t, p.d, []int64{2, 2}, 2, 0, 0, 4)
}

// system are arguments of operators of linear algebra, under the names that these have for a matrix, its pivots, scales of reflections
// and right-hand sides.
func system(p profile, t *testing.T) map[string]any {
	rows := given(t, dtype.Int32, []int64{2}, 1, 2)
	a, b := p.regular(t), given(t, p.d, []int64{2, 1}, 2, 8)
	return map[string]any{"self": a, "A": a, "LU": a, "LD": a, "LU_data": a, "input": a, "tau": given(t, p.d, []int64{2}, 0, 0),
		"pivots": rows, "LU_pivots": rows, "B": b, "other": b,
		"n": int64(2), "ind": int64(1), "dim": []int64{0, 1}, "ord": "fro", "p": "fro"}
}

func tolerance(_ profile, t *testing.T) map[string]any {
	return map[string]any{"rcond": given(t, dtype.Float32, nil, 0.5), "tol": given(t, dtype.Float32, nil, 0.5)}
}

func exchanges(p profile, t *testing.T) map[string]any {
	return map[string]any{"pivots": given(t, p.d, []int64{2}, 1, 2), "n": int64(2)}
}

// solvable is system for operators with the right-hand sides first, tensorial for those without matrices.
func solvable(p profile, t *testing.T) map[string]any {
	all := system(p, t)
	all["self"] = all["B"]
	return all
}

func tensorial(p profile, t *testing.T) map[string]any {
	all := system(p, t)
	all["other"] = given(t, p.d, []int64{2}, 2, 8)
	return all
}

func tensorBounds(p profile, t *testing.T) map[string]any {
	return map[string]any{"steps": int64(3), "start": given(t, dtype.Float32, nil, 1), "end": given(t, dtype.Float32, nil, 3)}
}

// inPlace has a scalar for an operator on lists in place.
func inPlace(p profile, _ *testing.T) map[string]any { return map[string]any{"scalar": p.one()} }

// listed has a vector with a number for each tensor of a list.
func listed(_ profile, t *testing.T) map[string]any {
	return map[string]any{"scalars": given(t, dtype.Float64, []int64{2}, 1, 1)}
}

// trained has operators of training do something in one dtype.
func trained(name string) func(profile, *testing.T) map[string]any {
	return func(p profile, _ *testing.T) map[string]any {
		return map[string]any{"p": 0.5, name: p.d == dtype.Float32}
	}
}

// lastNormalized normalizes the last dimension, and channelsNormalized the channels of dimension 1, without parameters.
func lastNormalized(p profile, _ *testing.T) map[string]any {
	var none *tensor.Tensor
	call := map[string]any{"weight": none, "bias": none, "eps": 1.0}
	if len(p.sizes) > 0 {
		call["normalized_shape"] = []int64{p.last()}
	}
	return call
}

func channelsNormalized(p profile, _ *testing.T) map[string]any {
	var none *tensor.Tensor
	call := map[string]any{
		"num_groups": int64(1), "group": int64(1), "examples": int64(1), "groups": int64(1), "channels": int64(1), "eps": 1.0, "momentum": 0.5,
		"training": true, "use_input_stats": true,
	}
	for _, name := range []string{"weight", "bias", "running_mean", "running_var", "given_mean", "given_rstd"} {
		call[name] = none
	}
	if len(p.sizes) > 1 {
		call["N"], call["C"], call["HxW"] = p.sizes[0], p.sizes[1], shape.Product(p.sizes[2:])
	}
	return call
}

// labelled returns a target with the first class for each batch element.
func labelled(p profile, t *testing.T) map[string]any {
	return map[string]any{"target": profile{dtype.Int64, p.cut(len(p.sizes) - 1).sizes, nil, zeros}.tensor(t, "")}
}
