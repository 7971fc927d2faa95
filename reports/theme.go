package reports

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

var (
	svgSize = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`)
	svgHex  = regexp.MustCompile(`#[0-9A-F]{6}\b`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*`)
)

// themed makes vgsvg's file fit for a page: as wide as there is room, fonts with
// fallbacks, colours that the page can change. By itself it is a light chart that turns
// dark where the reader prefers that.
func themed(svg []byte, title string) []byte {
	s := svgSize.ReplaceAllString(string(svg), `<svg class="chart" role="img" aria-label="`+title+` over time"`)
	s = svgFont.ReplaceAllString(s, `font-family:'Liberation Sans',Arial,Helvetica,sans-serif`)
	s = svgHex.ReplaceAllStringFunc(s, func(hex string) string {
		i := nearest(hex)
		return fmt.Sprintf("var(--%s,#%02x%02x%02x)", i.name, i.light.R, i.light.G, i.light.B)
	})
	return []byte(s)
}

// nearest finds the ink that a colour was meant to be: vgsvg rounds those that are
// translucent.
func nearest(hex string) ink {
	v, _ := strconv.ParseUint(hex[1:], 16, 32) // the pattern lets only digits through
	best, least := ink{}, math.MaxInt
	for _, i := range inks() {
		d := func(shift int, c uint8) int { return int(v>>shift&0xff) - int(c) }
		r, g, b := d(16, i.light.R), d(8, i.light.G), d(0, i.light.B)
		if far := r*r + g*g + b*b; far < least {
			best, least = i, far
		}
	}
	return best
}
