package reports

import (
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strconv"
)

// ink is a colour of a chart. The chart is drawn in its light value; in the file the
// light value stands as the fallback of a CSS variable, so that the page can turn dark.
type ink struct {
	name  string
	light color.RGBA
}

// The colours of charts. They must differ from each other and from black, which vgsvg
// does not write.
func inks() []ink {
	return []ink{inkText, inkAxis, inkGrid, inkMain, inkSecond, inkThird, inkFourth, inkOverstay, inkFault, inkPaper}
}

var (
	inkText     = ink{"chart-text", color.RGBA{0x24, 0x2a, 0x33, 0xff}}
	inkAxis     = ink{"chart-axis", color.RGBA{0x7d, 0x86, 0x92, 0xff}}
	inkGrid     = ink{"chart-grid", color.RGBA{0xe3, 0xe6, 0xea, 0xff}}
	inkMain     = ink{"chart-main", color.RGBA{0x1f, 0x6f, 0xb8, 0xff}}
	inkSecond   = ink{"chart-second", color.RGBA{0xb2, 0x6a, 0x00, 0xff}}
	inkThird    = ink{"chart-third", color.RGBA{0xa3, 0x3a, 0x6c, 0xff}}
	inkFourth   = ink{"chart-fourth", color.RGBA{0x2a, 0x7d, 0x4f, 0xff}}
	inkOverstay = ink{"overstay", color.RGBA{0xd9, 0x77, 0x06, 0xff}}
	inkFault    = ink{"chart-fault", color.RGBA{0x6d, 0x4b, 0xb8, 0xff}}
	inkPaper    = ink{"chart-paper", color.RGBA{0xff, 0xff, 0xfe, 0xff}}
)

func (i ink) alpha(a uint8) color.Color {
	return color.NRGBA{i.light.R, i.light.G, i.light.B, a}
}

var (
	svgSize = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"([^>]*)>`)
	svgHex  = regexp.MustCompile(`#[0-9A-F]{6}\b`)
	svgFont = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*`)
)

// themed makes vgsvg's file fit for a page: as wide as there is room, fonts with
// fallbacks, colours that the page can change, words for who cannot see it. By itself it
// is a light chart that turns dark where the reader prefers that. The name must be unique
// in the page.
func themed(svg []byte, name, title, desc string) []byte {
	head, body := "", string(svg)
	if at := svgSize.FindStringSubmatchIndex(body); at != nil {
		head = fmt.Sprintf(`<svg class="chart" role="img" aria-labelledby="%s-title" aria-describedby="%s-desc"%s><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
			name, name, body[at[2]:at[3]], name, html.EscapeString(title), name, html.EscapeString(desc))
		body = body[at[1]:]
	}
	body = svgFont.ReplaceAllString(body, `font-family:'Liberation Sans',Arial,Helvetica,sans-serif`)
	body = svgHex.ReplaceAllStringFunc(body, func(hex string) string {
		i := nearest(hex)
		return fmt.Sprintf("var(--%s,#%02x%02x%02x)", i.name, i.light.R, i.light.G, i.light.B)
	})
	return []byte(head + body)
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
