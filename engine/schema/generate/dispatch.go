package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// The implementation of an operator for a tensor kind is one of the words kernel, composite (the decomposition runs on tensors of the
// kind), rule (specific to the kind), constant (no gradient flows through it) or `unsupported`.

// plainForm returns the word for plain tensors.
func plainForm(f *function) string {
	if f.table != "" {
		return "composite"
	}
	return "kernel"
}

// gradientForm returns the word for tensors with gradients.
func gradientForm(o *schema.Operator, f *function) string {
	switch {
	case f.any || f.constant:
		return "constant"
	case o.Derivatives.Composed != "" || len(o.Derivatives.Of) > 0 || o.Tagged("view") && f.table == "":
		return "rule"
	case f.table != "":
		return "composite"
	}
	return "unsupported"
}

// generateDispatch writes the dispatcher's table of operators, and collects what the reference shows of their implementations.
func generateDispatch(out *output, ops []*schema.Operator, all []*function) error {
	byGo, first := map[string]*function{}, map[string]*schema.Operator{}
	for _, f := range all {
		byGo[f.name] = f
	}
	for _, o := range ops {
		if o.AliasOf == "" {
			first[o.GoName()] = o
		}
	}
	sparse, err := backendOf(out, sparseDir)
	if err != nil {
		return err
	}
	quantized, err := backendOf(out, quantizedDir)
	if err != nil {
		return err
	}
	served, err := readServed()
	if err != nil {
		return err
	}
	if err := generateOperators(out, ops, all, served); err != nil {
		return err
	}
	ops = schema.Public(ops)
	generateDevices(out, ops, served)
	words := map[string][]string{}
	for _, o := range ops {
		f := byGo[o.GoName()]
		if f == nil || f.keysExpression() == "" && !f.any {
			continue // of no tensors
		}
		gradient := gradientForm(first[f.name], f)
		named := o.NameRule() != "unsupported"
		layer := func(rules map[string]bool) string {
			switch {
			case f.any:
				return "kernel"
			case rules[f.name]:
				return "rule"
			case f.table != "":
				return "composite"
			}
			return "unsupported"
		}
		names := "unsupported"
		if named {
			names = "rule"
		}
		ofQuantized := layer(quantized)
		if f.isSparse() {
			ofQuantized = "unsupported"
		}
		words[o.ID()] = []string{plainForm(f), names, layer(sparse), gradient, ofQuantized}
	}
	out.kinds = words
	return nil
}

// kindColumns are the kinds of the table in the docs.
var kindColumns = []string{"dense", "named", "sparse", "gradient", "quantized"}

// backendOf returns the operators that a package's backend has: the keys of literals of dispatch.Backend, and the fields that are assigned.
func backendOf(out *output, dir string) (map[string]bool, error) {
	texts := map[string]any{}
	paths, err := handwrittenFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		texts[path] = nil
	}
	for path, text := range out.files {
		if filepath.Dir(path) == dir && !strings.HasSuffix(path, "gen_register.go") {
			texts[path] = text
		}
	}
	found := map[string]bool{}
	for path, text := range texts {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.AssignStmt:
				for _, to := range x.Lhs {
					if field, ok := to.(*ast.SelectorExpr); ok {
						found[field.Sel.Name] = true
					}
				}
			case *ast.CompositeLit:
				if of, ok := x.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Backend" {
					break
				}
				for _, item := range x.Elts {
					if pair, ok := item.(*ast.KeyValueExpr); ok {
						found[fmt.Sprint(pair.Key)] = true
					}
				}
			}
			return true
		})
	}
	return found, nil
}
