// Classifies images of letters with an exported program: classify LETTERS.pt2 IMAGES.npy. Prints the letter with the largest score for each
// image, as classify.c does.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/bindings/go/program"
	"github.com/libtensor/libtensor/examples/exported/scores"
)

var shape = regexp.MustCompile(`'descr': '<f4', 'fortran_order': False, 'shape': \(([0-9, ]+)\)`)

// readArray reads a .npy file of float32.
func readArray(path string) (*program.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) < 10 || !bytes.HasPrefix(data, []byte("\x93NUMPY\x01")) {
		return nil, fmt.Errorf("%s is no .npy file", path)
	}
	begin := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	if begin > len(data) {
		return nil, fmt.Errorf("%s is cut off", path)
	}
	found := shape.FindSubmatch(data[10:begin])
	if found == nil {
		return nil, fmt.Errorf("%s has no elements of float32 in row-major order", path)
	}
	var sizes []int64
	for _, word := range strings.FieldsFunc(string(found[1]), func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return program.NewTensorOf(program.Float32, data[begin:], sizes...)
}

// classify returns a letter for each image.
func classify(model, images string) (string, error) {
	p, err := program.Load(model)
	if err != nil {
		return "", err
	}
	defer p.Close()
	x, err := readArray(images)
	if err != nil {
		return "", err
	}
	defer x.Close()
	results, err := p.Run(x)
	if err != nil {
		return "", err
	}
	output := results[0].(*program.Tensor)
	defer output.Close()
	elements, err := program.Elements[float32](output)
	if err != nil {
		return "", err
	}
	classes := int(output.Sizes()[1])
	var letters strings.Builder
	for ; len(elements) > 0; elements = elements[classes:] {
		letters.WriteByte('A' + byte(scores.Best(elements[:classes])))
	}
	return letters.String(), nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: classify LETTERS.pt2 IMAGES.npy")
	}
	letters, err := classify(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(letters)
}
