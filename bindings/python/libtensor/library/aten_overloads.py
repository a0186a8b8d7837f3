# ruff: noqa: E501
"""The names of the overloads of PyTorch's operators."""

OVERLOADS = {
    "default": (
        "_flash_attention_backward _flash_attention_forward_no_dropout_inplace _scaled_dot_product_flash_attention_backward "
        "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward "
        "_add_batch_dim _amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _assert_scalar _assert_tensor_metadata "
        "_autocast_to_full_precision _autocast_to_reduced_precision _backward _batch_norm_impl_index _batch_norm_impl_index_backward "
        "_batch_norm_with_update_functional _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short "
        "_choose_qparams_per_tensor _coalesced_ _conj _convolution_double_backward _convolution_mode _cummax_helper _cummin_helper "
        "_debug_has_internal_overlap _dimI _dimV _dim_arange _efficient_attention_backward _efficient_attention_forward "
        "_embedding_bag_backward _embedding_bag_sparse_backward _fill_mem_eff_dropout_mask_ _foreach_abs_ _foreach_acos_ _foreach_asin_ "
        "_foreach_atan_ _foreach_ceil_ _foreach_copy_ _foreach_cos_ _foreach_cosh_ _foreach_erf_ _foreach_erfc_ _foreach_exp_ "
        "_foreach_expm1_ _foreach_floor_ _foreach_frac_ _foreach_lgamma_ _foreach_log10_ _foreach_log1p_ _foreach_log2_ _foreach_log_ "
        "_foreach_mm _foreach_neg_ _foreach_reciprocal_ _foreach_round_ _foreach_rsqrt_ _foreach_sigmoid_ _foreach_sign_ _foreach_sin_ "
        "_foreach_sinh_ _foreach_sqrt_ _foreach_tan_ _foreach_tanh_ _foreach_trunc_ _foreach_zero_ _functional_assert_scalar "
        "_functional_sym_constrain_range _functional_sym_constrain_range_for_size _fused_moving_avg_obs_fq_helper_functional "
        "_fused_rms_norm _fused_rms_norm_backward _fused_sdp_choice _fw_primal _gather_sparse_backward "
        "_grid_sampler_2d_cpu_fallback_backward _has_compatible_shallow_copy_type _has_same_storage_numel _indices _is_all_true "
        "_is_any_true _is_zerotensor _lazy_clone _linalg_check_errors _linalg_eigvals _local_scalar_dense _lu_with_info _make_dep_token "
        "_make_dual _mixed_dtypes_linear _native_batch_norm_legit_functional _neg_view _nnz _pack_padded_sequence_backward _pad_circular "
        "_pad_enum _pad_packed_sequence _prelu_kernel _prelu_kernel_backward _remove_batch_dim _reshape_alias _reshape_copy "
        "_reshape_from_tensor _resize_output_ _rowwise_prune _safe_softmax _saturate_weight_to_fp16 _scaled_addmm_ "
        "_scaled_dot_product_attention_math _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward "
        "_scaled_dot_product_fused_attention_overrideable _scaled_dot_product_fused_attention_overrideable_backward _shape_as_tensor "
        "_sobol_engine_draw _sobol_engine_ff_ _sobol_engine_initialize_state_ _sobol_engine_scramble_ _sparse_broadcast_to "
        "_sparse_bsc_tensor_unsafe _sparse_bsr_tensor_unsafe _sparse_compressed_tensor_unsafe _sparse_compressed_tensor_with_dims "
        "_sparse_coo_tensor_unsafe _sparse_csc_tensor_unsafe _sparse_csr_tensor_unsafe _sparse_mm_reduce_impl "
        "_sparse_mm_reduce_impl_backward _sparse_semi_structured_addmm _sparse_semi_structured_apply _sparse_semi_structured_apply_dense "
        "_sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_semi_structured_tile _spsolve _to_cpu _to_sparse_semi_structured "
        "_unpack_dual _unsafe_masked_index _unsafe_masked_index_put_accumulate _validate_compressed_sparse_indices "
        "_validate_sparse_bsc_tensor_args _validate_sparse_bsr_tensor_args _validate_sparse_compressed_tensor_args "
        "_validate_sparse_coo_tensor_args _validate_sparse_csc_tensor_args _validate_sparse_csr_tensor_args _values _version "
        "_convert_weight_to_int4pack_for_cpu _weight_int4pack_mm_for_cpu "
        "_weight_int8pack_mm _weight_norm _weight_norm_differentiable_backward _wrapped_linear_prepack abs_ absolute_ acos_ acosh_ "
        "adaptive_max_pool1d addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ adjoint affine_grid_generator_backward alias allclose "
        "alpha_dropout alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_ arctan_ arctanh_ argwhere as_strided as_strided_ asin_ "
        "asinh_ atan2_ atan_ atanh_ baddbmm_ batch_norm batch_norm_backward bilinear bitwise_not_ broadcast_tensors broadcast_to can_cast "
        "cartesian_prod cauchy_ ccol_indices cdist ceil_ celu_ chalf choose_qparams_optimized chunk coalesce col_indices combinations conj "
        "conj_physical_ contiguous conv_tbc_backward conv_transpose1d copy_sparse_to_sparse_ corrcoef cos_ cosh_ cosine_embedding_loss "
        "cosine_similarity cov cross_entropy_loss crow_indices cummaxmin_backward cumprod_ cumprod_backward cumsum_ data deg2rad_ dense_dim "
        "det detach detach_ diagflat diagonal digamma_ dim dropout dropout_ elu_ embedding_backward embedding_renorm_ "
        "embedding_sparse_backward equal erf_ erfc_ erfinv_ exp2_ exp_ expand expand_as expm1_ exponential_ feature_alpha_dropout "
        "feature_alpha_dropout_ feature_dropout feature_dropout_ fft_fftshift fft_ifftshift fill_diagonal_ fix_ flatten_dense_tensors "
        "fliplr flipud floor_ frac_ fused_moving_avg_obs_fake_quant gather_backward gcd_ gelu_ geometric_ get_device get_gradients "
        "grid_sampler group_norm gru_cell hardsigmoid_ hardswish_ hardtanh_ heaviside_ hinge_embedding_loss hypot_ i0_ igamma_ igammac_ "
        "imag index_add_ index_copy_ index_reduce_ index_select_backward indices infinitely_differentiable_gelu_backward instance_norm "
        "is_coalesced is_complex is_conj is_distributed is_floating_point is_inference is_leaf is_neg is_nonzero is_pinned is_same_size "
        "is_set_to is_signed is_vulkan_available isclose isreal istft item kl_div l1_loss layer_norm lcm_ ldexp_ leaky_relu_ lgamma_ "
        "lift_fresh linalg__powsum linalg_diagonal linalg_vander log10_ log1p_ log2_ log_ log_normal_ logdet logical_and_ logical_not_ "
        "logical_or_ logical_xor_ logit_ lstm_cell margin_ranking_loss masked_scatter_ masked_scatter_backward masked_select_backward "
        "matrix_exp matrix_exp_backward max_pool1d max_pool1d_with_indices max_pool2d max_pool3d mish_ mish_backward mvlgamma_ nan_to_num_ "
        "native_channel_shuffle neg_ negative_ nextafter_ nll_loss_nd nonzero_numpy norm_except_dim normal_ normal_functional numel one_hot "
        "output_nr pad pad_sequence pairwise_distance pdist permute pin_memory pinverse poisson_nll_loss polygamma_ positive prelu "
        "promote_types put_ q_per_channel_axis q_scale q_zero_point qscheme rad2deg_ ravel real reciprocal_ record_stream relu6 relu6_ "
        "relu_ renorm_ requires_grad_ reshape reshape_as resize_ resize_as_ resize_as_sparse_ resolve_conj resolve_neg retain_grad "
        "retains_grad rms_norm rnn_relu_cell rnn_tanh_cell row_indices rrelu rrelu_ rrelu_with_noise_ rrelu_with_noise_functional rsqrt_ "
        "scaled_dot_product_attention scatter_add_ selu selu_ set_data sgn_ shallow_copy_data_ sigmoid_ sign_ silu_ sin_ sinc_ sinh_ "
        "slice_inverse smm sparse_dim sparse_resize_ sparse_resize_and_clear_ special_log_softmax special_softmax split_with_sizes sqrt_ "
        "square_ storage_offset sum_to_size swapaxes swapaxes_ swapdims swapdims_ sym_constrain_range sym_constrain_range_for_size "
        "sym_is_contiguous sym_numel sym_storage_offset t t_ tan_ tanh_ threshold_ tile to_dense to_dense_backward to_sparse_bsc "
        "to_sparse_bsr to_sparse_csc to_sparse_csr trace_backward transpose_ tril_ triplet_margin_loss triu_ trunc_ type_as "
        "unflatten_dense_tensors unfold uniform_ unsafe_chunk unsqueeze unsqueeze_ value_selecting_reduction_backward vander view_as "
        "view_as_complex view_as_real zero_"
    ),
    "grad_input": "adaptive_avg_pool3d_backward",
    "input": "conv_transpose2d conv_transpose3d",
    "int": "transpose unbind unflatten",
    "msg": "_functional_assert_async",
    "two": "scatter_reduce_",
    "using_ints": "flatten",
    "IntList Tensor": "ctc_loss",
    "Scalar Scalar_out": "_foreach_norm _foreach_powsum",
    "Scalar Tensor": "eq_ fill_ ge_ greater_ greater_equal_ gt_ le_ lerp_ less_ less_equal_ lt_ masked_fill_ ne_ not_equal_ pow_",
    "Tensor Scalar": (
        "__iand__ __ilshift__ __ior__ __irshift__ __ixor__ _add_relu_ bitwise_and_ bitwise_or_ bitwise_xor_ copysign_ float_power_ "
        "floor_divide_ fmod_ multiply_ remainder_ sub_ subtract_ true_divide_"
    ),
    "Tensor Scalar_Other": "xlogy_",
    "Tensor Tensor_hacked_twin": "_unsafe_index",
    "Tensor Tensor_out": "slice_copy split_copy unsafe_split",
    "Tensor float": "bernoulli_",
    "Tensor_Scalar Tensor": "bitwise_left_shift_ bitwise_right_shift_",
    "ccol_row_value_size ccol_row_value": "sparse_bsc_tensor sparse_csc_tensor",
    "comp_plain_value_size comp_plain_value": "sparse_compressed_tensor",
    "crow_col_value_size crow_col_value": "sparse_bsr_tensor sparse_csr_tensor",
    "default L": "linalg_cholesky_ex",
    "default Sequence": "atleast_1d atleast_2d atleast_3d",
    "default Tensor": "clamp_ clamp_max_ clamp_min_ clip_ narrow",
    "default U": "_linalg_svd linalg_svd svd",
    "default X": "triangular_solve",
    "default a": "geqrf mH mT matrix_H numpy_T",
    "default center": "stft",
    "default decimals": "round_",
    "default dtype": "view",
    "default eigenvalues": "_linalg_eigh",
    "default eigvals": "linalg_eigh",
    "default grad_input": (
        "_upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward _upsample_lanczos2d_aa_backward "
        "_upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward "
        "adaptive_max_pool2d_backward adaptive_max_pool3d_backward avg_pool2d_backward avg_pool3d_backward binary_cross_entropy_backward "
        "elu_backward fractional_max_pool2d_backward fractional_max_pool3d_backward gelu_backward glu_backward hardshrink_backward "
        "hardsigmoid_backward hardtanh_backward leaky_relu_backward log_sigmoid_backward logit_backward max_pool2d_with_indices_backward "
        "max_pool3d_with_indices_backward mse_loss_backward multi_margin_loss_backward multilabel_margin_loss_backward nll_loss2d_backward "
        "nll_loss_backward reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
        "replication_pad2d_backward replication_pad3d_backward sigmoid_backward silu_backward soft_margin_loss_backward softplus_backward "
        "softshrink_backward tanh_backward threshold_backward upsample_bicubic2d_backward upsample_bilinear2d_backward "
        "upsample_linear1d_backward upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward "
        "upsample_trilinear3d_backward"
    ),
    "default hacked_twin": "_index_put_impl_ _unsafe_index_put index_put_",
    "default indexing": "meshgrid",
    "default inverse": "linalg_inv_ex",
    "default memory_format": "is_contiguous",
    "default msg": "_assert_async",
    "default out": (
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _addmm_activation "
        "_amp_foreach_non_finite_check_and_unscale _amp_update_scale _batch_norm_no_update _cdist_backward _cdist_forward "
        "_cholesky_solve_helper _chunk_cat _coalesced _compute_linear_combination _conj_copy _conj_physical "
        "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _dirichlet_grad _efficientzerotensor _embedding_bag "
        "_embedding_bag_dense_backward _embedding_bag_forward_only _embedding_bag_per_sample_weights_backward _euclidean_dist _fft_c2c "
        "_fft_c2r _fft_r2c _foreach_abs _foreach_acos _foreach_asin _foreach_atan _foreach_ceil _foreach_clone _foreach_copy _foreach_cos "
        "_foreach_cosh _foreach_erf _foreach_erfc _foreach_exp _foreach_expm1 _foreach_floor _foreach_frac _foreach_lgamma _foreach_log "
        "_foreach_log10 _foreach_log1p _foreach_log2 _foreach_max _foreach_neg _foreach_reciprocal _foreach_round _foreach_rsqrt "
        "_foreach_sigmoid _foreach_sign _foreach_sin _foreach_sinh _foreach_sqrt _foreach_tan _foreach_tanh _foreach_trunc _foreach_zero "
        "_fused_moving_avg_obs_fq_helper _fw_primal_copy _grid_sampler_2d_cpu_fallback _histogramdd_bin_edges _histogramdd_from_bin_cts "
        "_histogramdd_from_bin_tensors _index_put_impl _indices_copy _int_mm _log_softmax _log_softmax_backward_data _logcumsumexp "
        "_make_dual_copy _masked_softmax _masked_softmax_backward _native_batch_norm_legit_no_training _native_multi_head_attention "
        "_neg_view_copy _new_zeros_with_same_feature_meta _pack_padded_sequence _pdist_backward _pdist_forward _pin_memory "
        "_reshape_alias_copy _resize_output _sample_dirichlet _scaled_addmm _segment_reduce_backward _softmax _softmax_backward_data "
        "_sparse_addmm _sparse_broadcast_to_copy _sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors _spdiags _stack "
        "_standard_gamma _standard_gamma_grad _to_copy _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr "
        "_transform_bias_rescale_qkv _transformer_encoder_layer_fwd _trilinear _unique _unique2 _unsafe_view _values_copy "
        "_weight_norm_interface _weight_norm_interface_backward abs absolute adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
        "adaptive_max_pool2d adaptive_max_pool3d addbmm addcdiv addcmul addmv addr affine_grid_generator alias_copy amax amin aminmax "
        "arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin as_strided_copy as_strided_scatter avg_pool1d avg_pool2d "
        "avg_pool3d batch_norm_update_stats binary_cross_entropy binary_cross_entropy_with_logits bincount binomial bitwise_not block_diag "
        "cat cauchy ccol_indices_copy celu chain_matmul channel_shuffle cholesky_inverse cholesky_solve clone col2im col_indices_copy "
        "column_stack complex concat concatenate conj_physical constant_pad_nd conv_tbc convolution convolution_backward "
        "convolution_backward_overrideable convolution_overrideable copy_sparse_to_sparse cross crow_indices_copy cummax cummin cumprod "
        "cumsum deg2rad detach_copy diag diag_embed diagonal_backward diagonal_copy diagonal_scatter diff digamma dist dot dstack elu "
        "embedding embedding_dense_backward embedding_renorm empty_like empty_permuted empty_strided erfinv exp2 expand_copy exponential "
        "fft_fft fft_fft2 fft_fftfreq fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn "
        "fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fix flip fmax fmin frac from_file full full_like gather "
        "gelu geometric ger glu glu_backward_jvp glu_jvp grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward "
        "hardshrink hardsigmoid hardswish hardswish_backward hardtanh hash_tensor heaviside histc hstack huber_loss hypot i0 igamma igammac "
        "im2col index_add index_copy index_reduce index_select indices_copy inner inverse isneginf isposinf kron lcm leaky_relu lift "
        "lift_fresh_copy linalg_cholesky linalg_cross linalg_det linalg_eig linalg_eigvals linalg_eigvalsh linalg_householder_product "
        "linalg_inv linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex "
        "linalg_lu_solve linalg_matmul linalg_matrix_exp linalg_matrix_power linalg_matrix_sqrth linalg_multi_dot linalg_polar linalg_qr "
        "linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svdvals linalg_tensorinv linalg_tensorsolve "
        "linalg_vecdot linalg_vector_norm linear log2 log_normal log_sigmoid logaddexp logaddexp2 logcumsumexp logical_and logical_not "
        "logical_or logical_xor logit logsumexp lu_solve lu_unpack masked_scatter masked_select matmul matrix_power max_pool2d_with_indices "
        "max_pool3d_with_indices max_unpool2d max_unpool3d maximum minimum mish mse_loss msort multi_margin_loss multilabel_margin_loss "
        "multinomial mv mvlgamma nan_to_num nanmean nansum narrow_copy native_batch_norm native_batch_norm_backward native_dropout "
        "native_dropout_backward native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward negative "
        "new_empty new_empty_strided new_full new_ones new_zeros nextafter nll_loss nll_loss2d nonzero nonzero_static ones ones_like orgqr "
        "ormqr outer permute_copy pixel_shuffle pixel_unshuffle poisson polygamma put rad2deg reciprocal reflection_pad1d reflection_pad2d "
        "reflection_pad3d relu renorm repeat replication_pad1d replication_pad2d replication_pad3d resize resize_as resize_as_sparse roll "
        "rot90 row_indices_copy row_stack rrelu_with_noise rrelu_with_noise_backward rsqrt scalar_tensor scatter_add segment_reduce "
        "select_backward select_scatter sgn sigmoid sign signbit silu sinc slice_backward slice_scatter slogdet slow_conv3d "
        "slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d smooth_l1_loss soft_margin_loss softplus "
        "softshrink sparse_resize sparse_resize_and_clear special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 "
        "special_bessel_y1 special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit "
        "special_expm1 special_gammainc special_gammaincc special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p "
        "special_log_ndtr special_logit special_logsumexp special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
        "special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round "
        "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_sinc special_spherical_bessel_j0 split_with_sizes_copy "
        "square stack t_copy take take_along_dim tensordot thnn_conv2d threshold trace tril tril_indices triu triu_indices trunc "
        "unfold_backward unfold_copy uniform unique_consecutive unique_dim unique_dim_consecutive unsafe_split_with_sizes unsqueeze_copy "
        "values_copy vdot view_as_complex_copy view_as_real_copy vstack zero zeros zeros_like"
    ),
    "default output": (
        "_slow_conv2d_forward fractional_max_pool2d fractional_max_pool3d log_sigmoid_forward multilabel_margin_loss_forward "
        "nll_loss2d_forward nll_loss_forward slow_conv3d_forward"
    ),
    "default padding": "conv1d conv2d conv3d",
    "default padding_idx": "embedding_bag",
    "default reduce": "_sparse_mm",
    "default result": "_linalg_det _linalg_solve_ex",
    "default sign": "_linalg_slogdet",
    "default sublist": "einsum",
    "default tensor_lr": "_fused_adagrad_ _fused_adam_ _fused_adamw_ _fused_sgd_",
    "default values": "kthvalue mode topk",
    "dim out": "frobenius_norm",
    "dim_dtype_out dim_dtype": "_sparse_csr_prod _sparse_csr_sum",
    "grad_input default": "smooth_l1_loss_backward",
    "input data": "gru lstm rnn_relu rnn_tanh",
    "int array": "dsplit hsplit vsplit",
    "int default": "size stride sym_size sym_stride",
    "int int_out": "log_softmax select_copy softmax transpose_copy unbind_copy",
    "int intlist": "movedim",
    "int t": "select",
    "int_Tensor int_Scalar": "index_fill_",
    "intlist int": "moveaxis",
    "memory_format out": "empty",
    "out default": (
        "_batch_norm_with_update _coalesce _conv_depthwise2d _copy_from _copy_from_and_resize _fused_dropout _masked_scale "
        "_sparse_log_softmax_backward_data _sparse_mask_projection _sparse_softmax_backward_data _sparse_sparse_matmul _sparse_sum_backward "
        "_to_dense _triton_multi_head_attention _triton_scaled_dot_attention batch_norm_backward_elemt batch_norm_backward_reduce "
        "batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats conv_depthwise3d hspmm "
        "huber_loss_backward int_repr linear_backward matmul_backward max_pool2d_backward q_per_channel_scales q_per_channel_zero_points "
        "sparse_mask sparse_sampled_addmm sspaddmm to_padded_tensor"
    ),
    "sparse_dim default": "to_sparse",
    "two two_out": "scatter_reduce",
    "x dx": "cumulative_trapezoid trapezoid trapz",
    "List Scalar ScalarList": "_foreach_lerp_ _foreach_pow_",
    "Scalar List ScalarList": "_foreach_clamp_max_ _foreach_clamp_min_ _foreach_maximum_ _foreach_minimum_ _foreach_sub_",
    "Scalar ScalarList Tensor": "_foreach_addcdiv_ _foreach_addcmul_",
    "Tensor Scalar out": "multiply true_divide",
    "Tensor Scalar t": "add_ mul_",
    "Tensor Tensor_out default": "frexp",
    "Tensor out Scalar": "subtract",
    "Tensor out default": "ldexp",
    "Tensor t str": "slice",
    "default Tensor out": "_ctc_loss_backward",
    "default dim dims": "squeeze squeeze_",
    "default float complex": "isfinite",
    "default int_bins TensorList_bins": "histogramdd",
    "default out hacked_twin": "index_put",
    "default out int": "gcd",
    "default out vec": "_upsample_lanczos2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d",
    "default stable stable_out": "argsort",
    "default vec out": (
        "_upsample_bicubic2d_aa _upsample_bilinear2d_aa upsample_bicubic2d upsample_linear1d upsample_nearest1d upsample_nearest3d "
        "upsample_trilinear3d"
    ),
    "deprecated default out": "_convolution",
    "from to default": "random_",
    "grad_input output_mask output_mask_out": "_slow_conv2d_backward",
    "out int default": "_sparse_log_softmax _sparse_softmax",
    "sections indices tensor_indices_or_sections": "tensor_split",
    "Scalar List ScalarList Tensor": "_foreach_add_ _foreach_div_ _foreach_mul_",
    "Scalar Tensor Scalar_out Tensor_out": "fill lerp masked_fill",
    "Scalar Tensor bool int": "__and__",
    "Tensor Scalar Scalar_Tensor Scalar_Scalar": "result_type",
    "Tensor Scalar Scalar_out Tensor_out": "greater greater_equal less less_equal not_equal",
    "Tensor Scalar Tensor_out Scalar_out": "bucketize rsub searchsorted",
    "Tensor Scalar bool int": "__or__ __xor__",
    "Tensor Tensor_mode Scalar Scalar_mode": "div_",
    "Tensor Tensor_mode Scalar_mode Scalar": "divide_",
    "Tensor out Scalar Scalar_out": "_add_relu",
    "Tensor self_Tensor self_int Tensor_out": "repeat_interleave",
    "Tensor sizes str default": "split",
    "bins_tensor bins_tensor_out bin_ct bin_ct_out": "histogram",
    "default Scalar out Scalar_out": "floor_divide",
    "default Tensor int float": "copy_",
    "default Tensor out Tensor_out": "_ctc_loss clamp clamp_max clamp_min clip",
    "default dim correction correction_out": "std_mean var_mean",
    "default dim dim_values out": "median nanmedian",
    "default dim out dim_out": "_aminmax nuclear_norm",
    "default dim out dtype_out": "mean",
    "default dim_IntList dim_IntList_out out": "count_nonzero",
    "default dim_int int_out out": "prod",
    "default dtype out dtype_out": "view_copy",
    "default generator out generator_out": "rand rand_like randn randn_like randperm",
    "default m out m_out": "eye",
    "default no_stats out no_stats_out": "_native_batch_norm_legit",
    "default ord_str out ord_str_out": "linalg_norm",
    "default out dtype_out dtype": "addmm baddbmm bmm mm",
    "default out float complex": "isinf isnan",
    "default out tensor_lr tensor_lr_out": "_fused_adagrad _fused_adam _fused_adamw _fused_sgd",
    "default p_str out p_str_out": "linalg_cond",
    "default periodic out periodic_out": "bartlett_window blackman_window hann_window",
    "default scalar out scalar_out": "nanquantile quantile",
    "default str_ord out str_ord_out": "linalg_matrix_norm",
    "default vec out vec_out": "upsample_bilinear2d upsample_nearest2d",
    "int_Tensor int_Scalar int_Scalar_out int_Tensor_out": "index_fill",
    "out ScalarOpt_dim_dtype_out default ScalarOpt_dim_dtype": "native_norm",
    "size indices indices_size size_out": "sparse_coo_tensor",
    "sparse_dim default sparse_dim_out out": "_to_sparse",
    "src value reduce value_reduce": "scatter_",
    "step default out out_": "range",
    "Tensor Scalar Scalar_out Tensor_out int": "__lshift__ __rshift__",
    "default dim correction correction_out out": "std var",
    "default out int float Scalar": "ceil erf erfc expm1 floor lgamma log1p",
    "default start start_step start_out out": "arange",
    "dim dim_out default dtype dim_dtype": "_sparse_sum",
    "source_Storage_storage_offset source_Tensor default source_Storage source_Tensor_storage_offset": "set_",
    "List List_out Scalar Scalar_out ScalarList ScalarList_out": "_foreach_lerp",
    "Scalar Scalar_out List List_out ScalarList ScalarList_out": "_foreach_clamp_max _foreach_clamp_min _foreach_maximum _foreach_minimum _foreach_sub",
    "Scalar Scalar_out ScalarList ScalarList_out Tensor Tensor_out": "_foreach_addcdiv _foreach_addcmul",
    "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out": "bitwise_and bitwise_or bitwise_xor",
    "Tensor Scalar Tensor_mode Scalar_mode out out_mode": "divide",
    "Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other": "xlogy",
    "Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out": "bitwise_left_shift bitwise_right_shift",
    "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out": "float_power",
    "Tensor_Tensor Tensor_Tensor_out Tensor_Scalar Tensor_Scalar_out Scalar_Tensor Scalar_Tensor_out": "isin",
    "default dim dims out dim_out dims_out": "squeeze_copy",
    "default other_scalar self_scalar out self_scalar_out other_scalar_out": "special_xlog1py special_xlogy special_zeta",
    "default out int float complex Scalar": "acos acosh angle asin asinh atan atanh cos cosh exp log10 neg sin sinh sqrt tan tanh",
    "default out p Tensor Tensor_out float_out": "bernoulli",
    "default out x_scalar x_scalar_out n_scalar n_scalar_out": (
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
        "special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p "
        "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
        "special_shifted_chebyshev_polynomial_w"
    ),
    "default periodic beta out periodic_out beta_out": "kaiser_window",
    "from from_out to to_out default out": "random",
    "other default dim dim_max unary_out out": "max",
    "other default dim dim_min unary_out out": "min",
    "self ScalarOther ScalarSelf Scalar default self_out": "where",
    "List List_out Scalar Scalar_out ScalarList ScalarList_out ScalarAndTensor": "_foreach_pow",
    "default decimals out decimals_out int float Scalar": "round",
    "default out int float int_float float_int Scalar_Scalar": "atan2 polar",
    "default str int bool float complex Tensor": "values",
    "device dtype other dtype_layout prim_Device prim_dtype prim_other": "to",
    "scalarint scalararray array scalarrayint scalarrayarray tensorarrayint tensorarray": "gradient",
    "Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out ScalarOpt_dtype ScalarOpt_dtype_out Scalar_out": "norm",
    "Scalar Scalar_out List List_out ScalarList ScalarList_out Tensor Tensor_out": "_foreach_add _foreach_div _foreach_mul",
    "Tensor_Tensor Tensor_Scalar Scalar_Tensor default out Tensor_Tensor_out Tensor_Scalar_out Scalar_Tensor_out": "linspace logspace",
    "default atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out out rcond_tensor out_rcond_tensor": "linalg_pinv",
    "default generator low low_generator out generator_out low_out low_generator_out": "randint",
    "default periodic periodic_alpha periodic_alpha_beta out periodic_out periodic_alpha_out periodic_alpha_beta_out": "hamming_window",
    "default tol_tensor atol_rtol_tensor atol_rtol_float atol_rtol_tensor_out atol_rtol_float_out out out_tol_tensor": "linalg_matrix_rank",
    "dim_IntList default IntList_out out int float complex bool": "sum",
    (
        "source_Storage source_Storage_out source_Storage_storage_offset source_Storage_storage_offset_out source_Tensor "
        "source_Tensor_out default out"
    ): "set",
    "value src reduce value_reduce src_out value_out reduce_out value_reduce_out": "scatter",
    "Tensor Scalar Tensor_out Scalar_out int float int_float float_int default": "fmod",
    "Tensor Scalar out Scalar_out int float int_float float_int default": "copysign",
    "Tensor Tensor_out Tensor_hacked_twin str list_int list_float list_bool list_Tensor list_str": "index",
    "Tensor_float Tensor_float_out float_Tensor_out float_Tensor Tensor_Tensor Tensor_Tensor_out float_float float_float_out out": "normal",
    "default dim dims out dims_out all_out int float bool": "all",
    "default out t Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor": "copy",
    "Tensor Scalar Scalar_out Tensor_out int float int_float float_int default str": "ge gt le lt",
    "default dim dims out dims_out all_out str int float bool": "any",
    "default stable values_stable values int float Tensor bool str any": "sort",
    "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out int float int_float float_int default": "remainder",
    "Tensor Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out int complex float default": "div",
    (
        "default Tensor low_dtype generator Tensor_generator low_generator_dtype out generator_out Tensor_out "
        "Tensor_generator_out low_dtype_out low_generator_dtype_out"
    ): "randint_like",
    "Tensor Scalar out Scalar_out int complex float int_complex complex_int float_complex complex_float int_float float_int default": "sub",
    (
        "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out int complex float int_float float_int "
        "float_complex complex_float Scalar_Scalar int_to_int"
    ): "pow",
    "Tensor Scalar out Scalar_out left_t right_ int complex float int_complex complex_int float_complex complex_float int_float float_int default": "mul",
    "Tensor Scalar out Scalar_out t str int complex float int_complex complex_int float_complex complex_float int_float float_int default": "add",
    (
        "default out int float complex Scalar int_int float_float complex_complex int_float float_int int_complex complex_int "
        "float_complex complex_float Scalar_Scalar"
    ): "log",
    (
        "Tensor Scalar Scalar_out Tensor_out int_list device bool enum int complex float int_float float_int float_complex "
        "complex_float default str float_list Tensor_list bool_list str_list"
    ): "eq ne",
}
