package main

import "testing"

func Example() {
	main()
	// Output: y = 3.0000 x -2.0000
}

func TestMoreRoundsComeCloser(t *testing.T) {
	few, _, err := fit(2)
	if err != nil {
		t.Fatal(err)
	}
	many, _, err := fit(20)
	if err != nil {
		t.Fatal(err)
	}
	if !(0 < few && few < many && many < 3) {
		t.Fatalf("slopes of 2 and 20 rounds are %v and %v", few, many)
	}
}
