module github.com/libtensor/libtensor

go 1.26

require (
	github.com/mattn/go-pointer v0.0.1
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.6
	gorgonia.org/cu v0.9.6
)

require (
	github.com/google/uuid v1.1.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
)

ignore ./bindings/node/node_modules
