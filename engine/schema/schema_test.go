package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libtensor/libtensor/engine/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// units is a table of kernels as the units of engine/kernel have it.
const units = `LT_UNIT(some){
    {"up", "T>T", LT_ALL(Up)},   {"join", "T>TT", LT_ALL(Join)},
    {"less", "b>TT", LT_ALL(Less)}, {"fill", "T=T", LT_ALL(Fill)},
    {"sort", "", LT_SORTED(Sort)}, LT_END,
};`

func load(t *testing.T, text string) ([]*schema.Operator, error) {
	t.Helper()
	return loadFrom(t, "schema/operators", text)
}

// loadFrom is load with the folder of the entries.
func loadFrom(t *testing.T, folder, text string) ([]*schema.Operator, error) {
	t.Helper()
	engine := t.TempDir()
	for file, text := range map[string]string{folder + "/family.yaml": text, schema.Units + "/some.h": units} {
		file = filepath.Join(engine, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return schema.Load(engine)
}

// entry is an entry of a signature, and of fields after it that take the place of the usual ones.
func entry(text string) string {
	text = "- func: " + text + "\n"
	for _, field := range []string{"variants: [function]", "category: pointwise", "dtypes: all", `since: "0.1"`, "doc: Words."} {
		if name, _, _ := strings.Cut(field, " "); !strings.Contains(text, "\n  "+name+" ") {
			text += "  " + field + "\n"
		}
	}
	return text
}

func TestSignature(t *testing.T) {
	ops, err := load(t, entry("max:dim(Tensor self, int dim, bool keepdim=False, *, Scalar? p=None, int[] size=[1, 2]) -> (Tensor values, Tensor indices)"))
	require.NoError(t, err)
	o := ops[0]
	assert.Equal(t, []string{"max", "dim", "max.dim", "max_dim", "MaxDim", "family"},
		[]string{o.Name, o.Overload, o.ID(), o.CName(), o.GoName(), o.Family})
	assert.Equal(t, "False", o.Args[2].Default)
	assert.False(t, o.Args[2].KwOnly)
	assert.True(t, o.Args[3].KwOnly)
	assert.Equal(t, schema.Type{Base: "Scalar", Optional: true}, o.Args[3].Type)
	assert.Equal(t, "[1, 2]", o.Args[4].Default)
	assert.Equal(t, []string{"values", "indices"}, []string{o.Returns[0].Name, o.Returns[1].Name})

	ops, err = load(t, entry("add_(Tensor(a!) self, Tensor|Scalar other) -> ()"))
	require.NoError(t, err)
	assert.True(t, ops[0].Args[0].Mutated)
	assert.Equal(t, []int{1}, ops[0].Operands())
	assert.Empty(t, ops[0].Returns)
}

func TestRuntimeFunctionsAreMarked(t *testing.T) {
	text := entry("f(Storage self) -> int\n  dtypes: none\n  category: storage")
	for folder, runtime := range map[string]bool{"schema/operators": false, schema.RuntimeDir: true} {
		ops, err := loadFrom(t, folder, text)
		require.NoError(t, err)
		assert.Equal(t, runtime, ops[0].Runtime)
	}
	for _, field := range []string{"variants: [function, method]", "kernel: up", "derivatives: {self: result}"} {
		_, err := loadFrom(t, schema.RuntimeDir, entry("f(Tensor self) -> Tensor\n  "+field))
		assert.ErrorContains(t, err, "a function of the runtime has no kernel, no derivatives and no variant but function")
	}
}

// Every invalid schema is an error with the file, the operator and the problem.
func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"f Tensor self": "no argument list", "f(Tensor self": "not closed", "f(Tensor self)": "no result",
		"f(Tensr self) -> Tensor": `type "Tensr" is not one of`,
		"f(Tensor) -> Tensor":     "has no name", "f(int n, int n) -> Tensor": "two arguments are called n",
		"f(int n=1, int m) -> Tensor":            "argument m needs a default",
		"f(Tensor self) -> (Tensor a, Tensor a)": "result a", "f(Tensor out) -> Tensor": "result out",
		"f() -> (Tensor a=1)":     "result a has a default",
		"f(int n=None) -> Tensor": `default "None" of argument n is not a int`, "f(int n=1.5) -> Tensor": "not a int",
		"f(float x=fast) -> Tensor": "not a float",
		"f(Scalar x=one) -> Tensor": "not a Scalar", "f(bool b=true) -> Tensor": "not a bool", "f(str s=x) -> Tensor": "not a str",
		"f(int[] n=3) -> Tensor":       "not a int[]",
		"f(dtype d=float31) -> Tensor": "not a dtype", "f(memory_format m=upright) -> Tensor": "not a memory_format",
		"f(Tensor self=0) -> Tensor":                                              "not a Tensor",
		"f(Tensor(a) self) -> Tensor":                                             "mark (a) of no result",
		"f(Tensor self) -> Tensor(a)":                                             "mark (a) of no argument",
		"f_(Tensor(a!) self) -> Tensor(a)":                                        "mark (a) of no argument that is only read",
		"f(Tensor(a) self) -> Tensor(a)":                                          "tag view or maybe_view is missing",
		"f_(Tensor self) -> ()":                                                   "ends in _",
		"f(Tensor(a!) self) -> ()":                                                "ends in _",
		"f(Tensor self) -> Tensor\n  nonsense: 1":                                 "nonsense",
		"f(Tensor self) -> Tensor\n  promotion: upwards":                          "upwards",
		"f(Tensor self) -> Tensor\n  category: nearby":                            "nearby",
		"f(Tensor self) -> Tensor\n  dtypes: some":                                "some",
		"f(Tensor self) -> Tensor\n  go: F":                                       "go is the name that the function has without it",
		"f(Tensor self) -> Tensor\n  doc: ''":                                     "since and doc",
		"f(Tensor self) -> Tensor\n  variants: [sideways]":                        "sideways",
		"f(Tensor self) -> Tensor\n  variants: []":                                "variants are missing",
		"f(Tensor self) -> Tensor\n  private: true":                               "private and has none",
		"f(Tensor x) -> Tensor\n  variants: [method]":                             "called self",
		"f(int n) -> Tensor\n  variants: [function, inplace]":                     "called self",
		"f(Tensor self) -> (Tensor a, Tensor b)\n  variants: [function, inplace]": "variant inplace needs one result",
		"f(Tensor self) -> bool\n  variants: [function, out]":                     "variant out needs results that are tensors",
		"f(Tensor self) -> Tensor[]\n  variants: [function, out]":                 "variant out needs results that are tensors",
		"f(Tensor self) -> Tensor\n  tags: [fast]":                                `tag "fast"`,
		"f(Tensor self) -> Tensor\n  tags: [syncs, syncs]":                        "twice",
		"f(Tensor self) -> Tensor\n  tags: [elementwise, reduction]":              "contradict",
		"f(Tensor self) -> Tensor\n  tags: [view]":                                "alias mark",
		"f(Tensor self) -> Tensor\n  tags: [maybe_view]":                          "alias mark",
		"f(Tensor(a) self) -> Tensor(a)\n  tags: [view, maybe_view]":              "contradict",
		"f(Tensor self) -> Tensor\n  tags: [random]":                              "Generator",
		"f(Tensor self, *, Generator generator=None) -> Tensor":                   "tag random",
		"f(Tensor self) -> Tensor\n  tags: [moves]":                               "Tensor(a!)",
		"f(str how) -> Tensor\n  words: {who: [a]}":                               "no str argument is called who",
		"f(int how) -> Tensor\n  words: {how: [a]}":                               "no str argument is called how",
		"f(str how='b') -> Tensor\n  words: {how: [a]}":                           "default b of how",
		"f(Tensor self) -> Tensor\n  python: {names: {other: input}}":             "no argument is called other",
		"f(Tensor self) -> Tensor\n  python: {variadic: true}":                    "list of tensors",
		"f(Tensor self) -> Tensor\n  python: {commutes: true}":                    "dunder",
		"f(Tensor self) -> Tensor\n  python: {wrapped: [method]}":                 `form "method"`,
		"f(Tensor self) -> Tensor\n  node: {wrapped: [out]}":                      `form "out"`,
		"f(Tensor self) -> Tensor\n  python: {hidden: true}":                      "hidden",
		"f\n  alias_of: g":                                                        `alias_of "g"`,
	} {
		_, err := load(t, entry(text))
		if assert.ErrorContains(t, err, want) {
			assert.ErrorContains(t, err, "family.yaml: "+strings.SplitN(text, "\n", 2)[0]+": ")
		}
	}
}

// A kernel must exist in the sources, with the signature that the schema's arguments and promotion require.
func TestKernelsFitTheirEntries(t *testing.T) {
	const one, two = "f(Tensor self) -> Tensor", "f(Tensor self, Tensor|Scalar other) -> Tensor"
	row := func(signature, kernel, promotion, runs string) string {
		return signature + "\n  kernel: " + kernel + "\n  promotion: " + promotion + "\n  tags: [elementwise]\n  runs: [" + runs + "]"
	}
	for text, want := range map[string]string{
		row(one, "down", "promote", ""):                                    `kernel "down" is in no table of engine/kernel/src/units`,
		row(one, "up", "promote", "backwards"):                             `runs "backwards" is not one of [beside exact swapped unrounded wide]`,
		row(one, "up", "promote", "wide, wide"):                            `runs "wide" is there twice`,
		row(one, "up", "promote", "swapped"):                               "swapped goes with two tensors, and the operator has 1",
		row(one, "up", "promote_int", ""):                                  `promotion "promote_int" is not one that the row of a kernel follows: bool, complex, promote, promote_float, real`,
		row(one, "up", `""`, ""):                                           `promotion "" is not one`,
		row(one, "up", "bool", ""):                                         `kernel "up" has the signature "T>T", and the promotion bool wants one that begins with "b>"`,
		row(one, "up", "real", ""):                                         `begins with "R>"`,
		row(one, "up", "complex", ""):                                      `begins with "C>"`,
		row(two, "less", "promote_float", ""):                              `kernel "less" has the signature "b>TT", and the promotion promote_float wants one that begins with "T>"`,
		row(one, "fill", "promote", ""):                                    `"T=T"`,
		row(one, "sort", "promote", ""):                                    `kernel "sort" has the signature ""`,
		row(one, "join", "promote", ""):                                    `kernel "join" has the signature "T>TT", which reads 2 tensors, and the operator has 1`,
		row(two, "up", "promote", ""):                                      "reads 1 tensors, and the operator has 2",
		one + "\n  kernel: up\n  promotion: promote":                       "tag elementwise",
		row("f(Tensor self) -> (Tensor a, Tensor b)", "up", "promote", ""): "one result",
		row("f(Tensor self) -> bool", "up", "promote", ""):                 "one result that is a tensor",
		one + "\n  runs: [exact]":                                          "runs is about a kernel",
	} {
		_, err := load(t, entry(text))
		if assert.ErrorContains(t, err, want) {
			assert.ErrorContains(t, err, "family.yaml: "+strings.SplitN(text, "\n", 2)[0]+": ")
		}
	}
	ops, err := load(t, entry(row(two, "less", "bool", "swapped, exact"))+
		entry("g(Tensor self) -> Tensor\n  kernel: up\n  promotion: promote\n  tags: [elementwise]"))
	require.NoError(t, err)
	assert.Equal(t, []string{"less", "up"}, []string{ops[0].Kernel, ops[1].Kernel})
	assert.Equal(t, []string{"swapped", "exact"}, ops[0].Runs)
}

// Entries that contradict each other are errors, which name the later one.
func TestContradictingEntriesAreNamed(t *testing.T) {
	f := entry("f(Tensor self) -> Tensor")
	for text, want := range map[string]string{
		f: "also defined in",
		entry("g(Tensor self) -> Tensor\n  go: F"): "f runs the same Go function F",
		entry("f:x(Tensor self) -> Tensor") + entry(
			"f_x(Tensor self) -> Tensor\n  go: Other"): "tensor_f_x is also the C name of f.x",
		entry("f:x(Tensor self) -> Tensor\n  python: {internal: true}"):                                     "overload f in",
		entry("g(Tensor self) -> Tensor\n  alias_of: f\n  go: F"):                                           "go, kernel, vmap and jvp are those of f",
		entry("g\n  alias_of: f\n  kernel: up"):                                                             "go, kernel, vmap and jvp are those of f",
		entry("g\n  alias_of: f\n  vmap: loopCall"):                                                         "go, kernel, vmap and jvp are those of f",
		entry("g(Tensor self) -> Tensor\n  alias_of: f") + entry("h(Tensor self) -> Tensor\n  alias_of: g"): "another name itself",
		"- func: g\n  copy_of: h\n":                                                                         `copy_of "h" is not an entry with one result`,
		"- func: g(Tensor[] self) -> Tensor[]\n  each_of: f\n":                                              "follow from each_of",
		"- func: g\n  each_of: f\n  forms: [list]\n":                                                        `the form "list" is not OVERLOAD(ARGUMENTS)`,
		entry("g(Tensor self) -> Tensor\n  copy_of: f"):                                                     "follow from copy_of",
	} {
		_, err := load(t, f+text)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "family.yaml: ")
	}
}

// A copy of a view shares nothing with it, and is a composition.
func TestCopiesInherit(t *testing.T) {
	ops, err := load(t, "- func: g_copy\n  copy_of: g\n"+
		entry("g(Tensor(a) self, int dim) -> Tensor(a)\n  tags: [view]\n  names: view\n  quantized: view"))
	require.NoError(t, err)
	g := ops[0]
	assert.Equal(t, "g_copy(Tensor self, int dim) -> Tensor", g.Func)
	assert.Equal(t, []string{"function", "out"}, g.Variants)
	assert.Equal(t, []string{"copy", "all", "0.1", "steps", "steps", "GCopy"},
		[]string{g.Category, g.DTypes, g.Since, g.NameRule(), g.QuantizedRule(), g.GoName()})
	assert.Equal(t, "", g.Args[0].AliasSet+g.Returns[0].AliasSet)
	assert.False(t, g.Tagged("view"))
}

// An operator on lists has an entry for each of its forms, which returns a list, and one that writes to the first list.
func TestOperatorsOnListsHaveTwoFormsEach(t *testing.T) {
	ops, err := load(t, "- func: many\n  each_of: f\n  dtypes: all\n  forms: ['one(Tensor[] self, Scalar s)', 'list(Tensor[] self, Tensor[] other)']\n"+entry("f(Tensor self, Tensor other) -> Tensor"))
	require.NoError(t, err)
	var funcs, names []string
	for _, o := range ops[:4] {
		funcs, names = append(funcs, o.Func), append(names, o.GoName()+" "+o.Called)
	}
	assert.Equal(t, []string{
		"many:one(Tensor[] self, Scalar s) -> Tensor[]", "many_:one(Tensor(a!)[] self, Scalar s) -> ()",
		"many:list(Tensor[] self, Tensor[] other) -> Tensor[]", "many_:list(Tensor(a!)[] self, Tensor[] other) -> ()",
	}, funcs)
	assert.Equal(t, []string{"ManyOne _many", "ManyOneInPlace _many_", "ManyList _many", "ManyListInPlace _many_"}, names)
}

// An alias inherits every field that it does not set.
func TestAliasesInherit(t *testing.T) {
	ops, err := load(t, "- func: g\n  alias_of: f\n  category: special\n"+
		entry("f(Tensor(a) self, str how='a') -> Tensor(a)\n  tags: [view]\n  words: {how: [a, b]}\n  go: Work\n  python: {internal: true}"))
	require.NoError(t, err)
	g, f := ops[0], ops[1]
	assert.Equal(t, []string{"g", "special", "all", "0.1"}, []string{g.Name, g.Category, g.DTypes, g.Since})
	assert.Equal(t, "Work", g.GoName())
	assert.Equal(t, f.Args, g.Args)
	assert.Equal(t, f.Returns, g.Returns)
	assert.Equal(t, "g(Tensor(a) self, str how='a') -> Tensor(a)", g.Func)
	assert.Equal(t, []string{"a", "b"}, g.Args[1].Words)
	assert.True(t, g.Tagged("view"))
	assert.False(t, g.Python.Internal)
	assert.Equal(t, "Words.\nAlias of `f`.\n", g.Doc)
}

func TestEveryEntryIsComplete(t *testing.T) {
	ops, err := schema.Load("..")
	require.NoError(t, err)
	assert.Greater(t, len(ops), 300)
	for _, o := range ops {
		assert.NotEmpty(t, o.Doc, o.ID())
	}
}
