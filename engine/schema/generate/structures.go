package main

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// structureSources are the headers that declare structures which Go passes to C.
var structureSources = []string{"engine/kernel/*.h", "engine/kernel/src/*.h", "engine/kernel/src/units/*.h", "engine/blas/*.h"}

// structurePackage is a package with the Go types of structures: the first that has a structure by its name or by the beginning of the name
// declares it.
type structurePackage struct {
	folder   string
	exported bool
	names    []string
	prefixes []string
}

var structurePackages = []structurePackage{
	{"engine/kernelapi", true, []string{
		"lt_block_values", "lt_index_weights", "lt_label_alignment", "lt_loop", "lt_parameter_update", "lt_place_params", "lt_pooling",
		"lt_quantized_pair", "lt_reduction", "lt_resampling", "lt_sampling", "lt_windows", "range_args",
	}, nil},
	{"engine/dtype", true, []string{"lt_float8_format"}, nil},
	{"engine/blas", true, nil, []string{"lt_blas_", "lt_lapack_"}},
	{"engine/kernel", true, nil, []string{"lt_"}},
	{"cuda", false, launchStructures, nil},
	{"engine/cpu", false, nil, []string{""}},
}

// launchSources are the headers that declare the arguments of CUDA kernels, and the structures that these contain.
var launchSources = []string{"cuda/kernels/*.h", "engine/kernel/*.h"}

// launchStructures are the arguments of CUDA kernels, and the structures that Go writes to device memory or reads.
var launchStructures = []string{
	"AlignedElement", "Aligning", "Binning", "Choosing", "Combination", "Coordinates", "Distances", "Dots", "Drawing", "Groups", "Lines",
	"Loop", "Masks", "Normalizing", "Prefix", "Product", "Ranking", "Reduction", "Resampled", "Rows", "Sampling", "Scanning", "Search", "Searching", "SoftLanes",
	"Sorting", "Triangle", "Windowing", "index_fault",
}

// initialisms are the parts of names that Go has capitals for.
var initialisms = map[string]string{"dtype": "DType", "fft": "FFT", "lu": "LU", "nan": "NaN"}

// goName returns the Go name of a structure or a field, without lt_ and without the package that its users write before it.
func goName(name, folder string, exported bool) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "lt_"), path.Base(folder)+"_")
	if !exported {
		name = schema.Camel(name, false)
		return strings.ToLower(name[:1]) + name[1:]
	}
	parts := strings.Split(name, "_")
	for i, part := range parts {
		if initialism, ok := initialisms[part]; ok {
			parts[i] = initialism
		}
	}
	return schema.Camel(strings.Join(parts, "_"), true)
}

// numberTypes are the Go types of fields that C declares as numbers.
var numberTypes = map[string]string{
	"lt_blas_product.a_conjugated": "bool", "lt_blas_product.a_transposed": "bool",
	"lt_blas_product.b_conjugated": "bool", "lt_blas_product.b_transposed": "bool",
	"Drawing.block": "uint64", "Drawing.seed": "uint64", "Drawing.span": "uint64", "Choosing.block": "uint64", "Choosing.seed": "uint64",
	"Drawing.each_memory": "dtype.DType", "Drawing.memory": "dtype.DType", "Loop.compute": "dtype.DType", "Loop.converts": "conversion",
	"Loop.memory": "dtype.DType", "Reduction.across": "bool", "Reduction.compute": "dtype.DType", "Reduction.memory": "dtype.DType",
	"Normalizing.centred": "bool", "Normalizing.rounded": "bool", "Reduction.merging": "bool", "Reduction.out_memory": "dtype.DType", "Scanning.across": "bool", "Scanning.totaling": "bool",
	"lt_loop.compute": "dtype.DType", "lt_loop.memory": "dtype.DType", "lt_loop.stream": "bool",
	"lt_reduction.compute": "dtype.DType", "lt_reduction.memory": "dtype.DType", "lt_reduction.out_memory": "dtype.DType",
}

// typeOf returns the Go type of the elements of a field, and whether it is a number.
func typeOf(s schema.Structure, f schema.Field, p structurePackage) (goType string, number bool) {
	goType, number = numberTypes[s.Name+"."+f.Name]
	if !number {
		goType, number = schema.FieldTypes[f.Type]
		if goType == "uint64" && p.folder == "cuda" { // an address of the device
			goType = "uintptr"
		}
	}
	if !number {
		home := homeOf(f.Type)
		goType = goName(f.Type, home.folder, home.exported)
		if home.folder != p.folder {
			goType = path.Base(home.folder) + "." + goType
		}
	}
	return strings.TrimPrefix(goType, path.Base(p.folder)+"."), number
}

// fieldsPerLine is the largest number of fields that a line declares.
const fieldsPerLine = 8

// homeOf returns the package that declares a structure.
func homeOf(name string) structurePackage {
	at := slices.IndexFunc(structurePackages, func(p structurePackage) bool {
		return slices.Contains(p.names, name) ||
			slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	return structurePackages[at]
}

// goFields returns the fields of a Go struct, adjacent ones of one type in a line. A structure that extends another, which is its first
// field and which its name begins with, or whose field is `of`, embeds that.
func goFields(s schema.Structure, p structurePackage) string {
	var b strings.Builder
	for i := 0; i < len(s.Fields); {
		f := s.Fields[i]
		goType, number := typeOf(s, f, p)
		if !number && i == 0 && (f.Name == "of" || strings.HasPrefix(s.Name, f.Type+"_")) {
			fmt.Fprintf(&b, "\t%s\n", goType)
			i++
			continue
		}
		var names []string
		for ; i < len(s.Fields) && len(names) < fieldsPerLine && slices.Equal(s.Fields[i].Lengths, f.Lengths); i++ {
			if other, _ := typeOf(s, s.Fields[i], p); other != goType {
				break
			}
			name := goName(s.Fields[i].Name, "", p.exported)
			if name == "reserved" {
				name = "_"
			}
			names = append(names, name)
		}
		for _, n := range slices.Backward(f.Lengths) {
			goType = fmt.Sprintf("[%d]%s", n, goType)
		}
		fmt.Fprintf(&b, "\t%s %s\n", strings.Join(names, ", "), goType)
	}
	return b.String()
}

// generateStructures writes the Go types of the structures that C headers declare. In a folder with headers that cgo reads, the sizes are
// compared.
func generateStructures(out *output) error {
	all, err := schema.ReadStructures(structureSources...)
	if err != nil {
		return err
	}
	launches, err := schema.ReadNamedStructures(launchStructures, launchSources...)
	if err != nil {
		return err
	}
	for _, s := range launches {
		if slices.Contains(launchStructures, s.Name) {
			all = append(all, s)
		}
	}
	for _, p := range structurePackages {
		var types, checks strings.Builder
		var headers []string
		imports := map[string]bool{}
		for _, s := range all {
			home := homeOf(s.Name)
			if filepath.Dir(s.Path) == p.folder {
				if header := filepath.Base(s.Path); !slices.Contains(headers, header) {
					headers = append(headers, header)
				}
				name := goName(s.Name, home.folder, home.exported)
				if home.folder != p.folder {
					imports["github.com/libtensor/libtensor/"+home.folder] = true
					name = path.Base(home.folder) + "." + name
				}
				fmt.Fprintf(&checks, "\t_ [unsafe.Sizeof(%s{})]struct{} = [C.sizeof_%s]struct{}{}\n", name, s.Name)
			}
			if home.folder != p.folder {
				continue
			}
			name, fields := goName(s.Name, p.folder, p.exported), goFields(s, p)
			for _, other := range []string{"dtype", "kernelapi"} {
				if strings.Contains(fields, other+".") {
					imports["github.com/libtensor/libtensor/engine/"+other] = true
				}
			}
			fmt.Fprintf(&types, "\n// %s mirrors %s of %s.\ntype %s struct {\n%s}\n", name, s.Name, filepath.Base(s.Path), name, fields)
		}
		text := fmt.Sprintf("%spackage %s\n", goBanner, path.Base(p.folder))
		if len(headers) > 0 {
			slices.Sort(headers)
			text += fmt.Sprintf("\n// #include \"%s\"\nimport \"C\"\n", strings.Join(headers, "\"\n// #include \""))
			text += "\nimport \"unsafe\"\n"
		}
		if len(imports) > 0 {
			text += fmt.Sprintf("\nimport (\n\t\"%s\"\n)\n", strings.Join(slices.Sorted(maps.Keys(imports)), "\"\n\t\""))
		}
		text += types.String()
		if len(headers) > 0 {
			text += "\n// Go and C must agree on sizes.\nvar (\n" + checks.String() + ")\n"
		}
		out.write(p.folder+"/gen_structures.go", text)
	}
	return nil
}
