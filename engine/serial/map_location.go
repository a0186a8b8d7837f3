package serial

import (
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// locationMap is a map_location: "" keeps all devices, "cpu" maps all to one device, and "cuda:0=cpu,cuda:1=cpu" maps pairs.
type locationMap struct {
	all   string
	pairs map[string]string
}

// parseMapLocation parses a map_location.
func parseMapLocation(op, text string) (*locationMap, error) {
	p := &locationMap{pairs: map[string]string{}}
	if !strings.Contains(text, "=") {
		p.all = text
		return p, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, status.Valuef("%s: map_location is %q; expected a device, or pairs such as 'cuda:0=cpu,cuda:1=cpu'", op, text)
		}
		p.pairs[from] = to
	}
	return p, nil
}

// resolveDevice returns the device for objects that were saved from location.
func (p *locationMap) resolveDevice(op, location string) (device.Device, error) {
	to := location
	if p.all != "" {
		to = p.all
	} else if mapped, ok := p.pairs[location]; ok {
		to = mapped
	}
	d, err := device.Parse(to)
	if err == nil {
		d, err = device.Resolve(op, d)
	}
	if err != nil && to == location {
		return d, status.Runtimef("%s: the file has tensors that were saved from device %q, which is not available here; load it with map_location='cpu'",
			op, location)
	}
	return d, err
}
