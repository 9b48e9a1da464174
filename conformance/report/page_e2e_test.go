//go:build e2e

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// frame shows the page at a width, as the smallest window of a desktop browser
// is wider than a telephone, and leaves in the document what it measured: as the
// page comes, and with all opened that is folded.
const frame = `<!DOCTYPE html><html><body style="margin:0"><iframe src="/report" style="border:0;width:%[1]dpx;height:%[2]dpx"></iframe><pre id="seen"></pre>
<script>
const box = document.querySelector("iframe");
box.onload = () => {
	const doc = box.contentDocument;
	const look = () => ({
		width: doc.documentElement.scrollWidth, mode: doc.compatMode,
		over: [...doc.querySelectorAll("body *")].filter(e => !e.closest(".wide") && e.getBoundingClientRect().right > %[1]d + 1).map(e => e.outerHTML.slice(0, 200)),
		findings: doc.querySelectorAll("#findings > details").length, open: doc.querySelectorAll("#findings > details[open]").length,
		arrows: doc.querySelectorAll(".lanes .right, .lanes .left").length,
		smallest: Math.min(...[...doc.querySelectorAll("p, pre, td, dd, span")].map(e => parseFloat(doc.defaultView.getComputedStyle(e).fontSize))),
	});
	const seen = [look()];
	doc.querySelectorAll("details").forEach(d => d.open = true);
	seen.push(look());
	document.getElementById("seen").textContent = JSON.stringify(seen);
};
</script></body></html>`

// seen is what the frame measured.
type seen struct {
	Width    int      `json:"width"`
	Over     []string `json:"over"` // elements that stand out on the right
	Mode     string   `json:"mode"`
	Findings int      `json:"findings"`
	Open     int      `json:"open"`
	Arrows   int      `json:"arrows"`
	Smallest float64  `json:"smallest"` // font in pixels
}

// TestE2EPageInABrowser opens the page in headless Chromium at the widths of a
// telephone and a desktop, in light and dark: nothing has to be scrolled
// sideways, nothing is asked of the network, and all findings are there.
func TestE2EPageInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	require.NoError(t, err, "testdata/peers/install.sh installs it")
	r := rich()
	r.Results[0].Observed = strings.Repeat("unbroken", 100) // a word that is wider than any screen
	for i := range 3 {
		c := r.Results[1]
		c.Revision, c.ID = []string{"2024-11-05", "2025-03-26", "2026-07-28"}[i], fmt.Sprintf("more-%d", i)
		r.Results = append(r.Results, c)
	}
	var page bytes.Buffer
	require.NoError(t, HTML(&page, r, Options{Tool: "v1"}))

	var mu sync.Mutex
	asked := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		asked[req.URL.Path] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		var width, height int
		if _, err := fmt.Sscanf(req.URL.Path, "/frame/%d/%d", &width, &height); err == nil {
			_, _ = fmt.Fprintf(w, frame, width, height)
		} else if req.URL.Path == "/report" {
			_, _ = w.Write(page.Bytes())
		}
	}))
	defer srv.Close()
	run := func(path string, args ...string) []byte {
		profile := t.TempDir()
		cmd := exec.CommandContext(t.Context(), browser, append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
			"--user-data-dir=" + profile, "--virtual-time-budget=3000",
		}, append(args, srv.URL+path)...)...)
		cmd.WaitDelay = 10 * time.Second
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return out
	}
	for width, dark := range map[int]bool{390: true, 1280: false} {
		path := fmt.Sprintf("/frame/%d/800", width)
		dom := run(path, "--dump-dom", "--window-size=1400,900")
		m := regexp.MustCompile(`<pre id="seen">(.*?)</pre>`).FindSubmatch(dom)
		require.NotNil(t, m, "%s", dom)
		var looks []seen
		require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(string(m[1]))), &looks), "%s", m[1])
		require.Len(t, looks, 2)
		want := 0
		for _, v := range []result.Verdict{result.Fail, result.Warn, result.Error} {
			want += len(groups(r, v))
		}
		for _, got := range looks {
			require.LessOrEqual(t, got.Width, width, "nothing has to be scrolled sideways")
			require.Empty(t, got.Over)
			require.Equal(t, "CSS1Compat", got.Mode)
			require.Equal(t, want, got.Findings)
			require.NotZero(t, got.Open, "what counts is shown at once")
			require.GreaterOrEqual(t, got.Arrows, 6)
			require.GreaterOrEqual(t, got.Smallest, 12.0, "it can be read")
		}

		file := filepath.Join(t.TempDir(), "page.png")
		scheme := 1
		if dark {
			scheme = 0
		}
		run(path, "--screenshot="+file, "--window-size=1400,900", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme))
		f, err := os.Open(file)
		require.NoError(t, err)
		img, err := png.Decode(f)
		require.NoError(t, f.Close())
		require.NoError(t, err)
		require.Equal(t, dark, luminance(img.At(width-2, 2)) < 0.5, "whether the ground is dark")
		require.Greater(t, shades(img, image.Rect(0, 0, width, 800)), 20, "the page is not blank")
	}
	for path := range asked {
		require.True(t, path == "/report" || path == "/favicon.ico" || strings.HasPrefix(path, "/frame/"), "the page asked for %s", path)
	}
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return (0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)) / 0xffff
}

// shades counts the different colours in a part of an image.
func shades(img image.Image, part image.Rectangle) int {
	found := map[color.Color]bool{}
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			found[img.At(x, y)] = true
		}
	}
	return len(found)
}
