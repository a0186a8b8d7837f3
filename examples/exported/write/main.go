// Continues a text with an exported program: write PROSE.pt2 [TEXT], as write.c does.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/libtensor/libtensor/bindings/go/program"
	"github.com/libtensor/libtensor/examples/exported/scores"
)

const context, length = 64, 240

// nextLetter returns the letter that follows the last ones of a text.
func nextLetter(p *program.Program, text []byte) (byte, error) {
	text = text[max(0, len(text)-context):]
	letters := make([]int64, len(text))
	for i, letter := range text {
		letters[i] = int64(letter)
	}
	input, err := program.NewTensor(letters, 1, int64(len(letters)))
	if err != nil {
		return 0, err
	}
	defer input.Close()
	results, err := p.Run(input)
	if err != nil {
		return 0, err
	}
	output := results[0].(*program.Tensor)
	defer output.Close()
	elements, err := program.Elements[float32](output)
	return byte(scores.Best(elements)), err
}

// write returns the text with the letters that follow it.
func write(model, begin string) (string, error) {
	p, err := program.Load(model)
	if err != nil {
		return "", err
	}
	defer p.Close()
	text := []byte(begin)
	for range length {
		letter, err := nextLetter(p, text)
		if err != nil {
			return "", err
		}
		text = append(text, letter)
	}
	return string(text), nil
}

func main() {
	begin := "A tensor "
	switch len(os.Args) {
	case 2:
	case 3:
		begin = os.Args[2]
	default:
		log.Fatal("usage: write PROSE.pt2 [TEXT]")
	}
	text, err := write(os.Args[1], begin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}
