package backend

import "github.com/libtensor/libtensor/engine/tensor"

// LinearAlgebra applies a task of linear algebra to every matrix of a batch. Operands, nil if the task has none, are contiguous batches of
// matrices or vectors, the matrices in column-major order. A, B, U and V have one dtype, of 32 or 64 bits for each part.
type LinearAlgebra struct {
	Task   Task
	A      *tensor.Tensor // the matrix to factor, or a factor
	B      *tensor.Tensor // right-hand sides, which the solutions take the place of
	U, V   *tensor.Tensor // vectors on the left and on the right
	Values *tensor.Tensor // a vector for each matrix: scales of reflections, eigenvalues, or singular values, which are real
	Pivots *tensor.Tensor // int32, counted from 1
	Rank   *tensor.Tensor // int64, one for each matrix
	Info   *tensor.Tensor // int32, one for each matrix: 0, LAPACK's info, or NotFinite

	Upper     bool // the triangle that A has, or is to have
	Right     bool // A is on the right of the unknown, or of the other factor
	Adjoint   bool // A is transposed, and conjugated if it is complex
	Unit      bool // the diagonal of A counts as ones
	Factored  bool // A, to be solved with, was factored by FactorLU, with Pivots
	Hermitian bool // A equals its adjoint, rather than its transpose
	Driver    Driver
	Cutoff    float64 // of singular values, relative to the largest; negative for the dtype's precision
}

// NotFinite is the Info of a matrix with infinities or NaN, for which there is no decomposition.
const NotFinite = -4

// Task names a task of linear algebra.
type Task uint8

// The tasks. The factors of A overwrite it, as LAPACK stores them.
const (
	FactorLU        Task = iota // A = P L U, with Pivots
	Invert                      // A becomes its inverse
	SolveLinear                 // A X = B; A is factored, with Pivots
	FactorCholesky              // A = L L^H or U^H U
	SolveTriangular             // A X = B or X A = B
	FactorQR                    // A = Q R, Q as reflections with Values
	FormQ                       // A becomes Q
	ApplyQ                      // B becomes Q B or B Q
	EigenHermitian              // Values, and vectors in A where V is A
	EigenGeneral                // complex Values, and V unless it is nil; A is overwritten
	SingularValues              // Values, and U and V unless they are nil; A is overwritten
	FactorLDL                   // A = L D L^T or L D L^H, with Pivots
	SolveLDL                    // the same A X = B
	LeastSquares                // the X of smallest |A X - B|, by Driver; A is lost
)

// Driver is the way to solve a least squares problem, as LAPACK calls it.
type Driver uint8

// The drivers.
const (
	GELS  Driver = iota // QR, for matrices of full rank
	GELSY               // QR with pivots
	GELSD               // singular values, by division
	GELSS               // singular values
)
