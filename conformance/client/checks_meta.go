package client

import (
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// metaChecks are about _meta, and about what the client says of itself.
func metaChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-meta-object", Title: "_meta is an object wherever it stands", Layer: check.Protocol,
			Requirements: []string{"legacy/meta-is-object"},
			Judge: func(c *check.Case) {
				eachMeta(c, func(f *check.Frame, meta wire.Raw) {
					want(c, f, meta.Kind() == wire.KindObject, "an object as _meta", show(meta))
				})
			},
		},
		{
			ID: "client-meta-key-syntax", Title: "keys of _meta follow the naming rules", Layer: check.Protocol,
			Requirements: []string{"legacy/meta-key-syntax", "modern/meta-prefix-syntax", "modern/meta-name-syntax"},
			Judge: func(c *check.Case) {
				eachMetaKey(c, func(f *check.Frame, key string, _ wire.Raw) {
					want(c, f, check.MetaKeySyntax(key), "a key of _meta that follows the naming rules", strconv.Quote(key))
				})
			},
		},
		{
			ID: "client-meta-reserved-keys", Title: "keys of _meta that are reserved are not made up", Layer: check.Protocol,
			Requirements: []string{"legacy/meta-reserved-prefix", "legacy/meta-reserved-prefix-legacy", "modern/meta-reserved-prefix"},
			Judge: func(c *check.Case) {
				eachMetaKey(c, func(f *check.Frame, key string, _ wire.Raw) {
					// Keys that begin so are the protocol's own, also such as a
					// later revision or an extension defines.
					want(c, f, !check.MetaKeyReserved(c.Revision, key) || strings.HasPrefix(key, "io.modelcontextprotocol/"),
						"no key of one's own under a prefix that is reserved", strconv.Quote(key))
				})
			},
		},
		{
			ID: "client-meta-reverse-dns", Title: "prefixes in _meta are domain names in reverse", Layer: check.Protocol,
			Requirements: []string{"modern/meta-prefix-reverse-dns"},
			Judge: func(c *check.Case) {
				eachMetaKey(c, func(f *check.Frame, key string, _ wire.Raw) {
					if ok, told := check.MetaKeyReversed(key); told {
						want(c, f, ok, "a prefix in reverse, as com.example/", strconv.Quote(key))
					}
				})
			},
		},
		{
			ID: "client-trace-context", Title: "trace context in _meta has the W3C format", Layer: check.Protocol,
			Requirements: []string{"modern/meta-trace-context-format", "modern/meta-baggage-format"},
			Judge: func(c *check.Case) {
				eachMetaKey(c, func(f *check.Frame, key string, v wire.Raw) {
					if ok, told := check.TraceContext(key, v); told {
						want(c, f, ok, "a "+key+" in the format of the W3C", show(v))
					}
				})
			},
		},
		{
			ID: "client-meta-required", Title: "each request says its version and the client's capabilities", Layer: check.Protocol,
			Requirements: []string{"modern/meta-client-required-fields"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					meta := f.Params.Get("_meta")
					switch {
					case meta.Get(metaVersion).Kind() != wire.KindString:
						c.Broken(f, "a string as "+metaVersion+" in _meta", show(meta.Get(metaVersion)))
					case meta.Get(metaCaps).Kind() != wire.KindObject:
						c.Broken(f, "an object as "+metaCaps+" in _meta", show(meta.Get(metaCaps)))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-info-sent", Title: "each request names the client", Layer: check.Protocol,
			Requirements: []string{"modern/meta-client-info-sent"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					want(c, f, f.Params.Get("_meta").Get(metaInfo) != nil, metaInfo+" in _meta", "none")
				})
			},
		},
		{
			ID: "client-info-shape", Title: "what names the client has a name and a version", Layer: check.Protocol,
			Requirements: []string{"modern/meta-client-info-shape"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if info := f.Params.Get("_meta").Get(metaInfo); info != nil {
						want(c, f, info.Get("name").Kind() == wire.KindString && info.Get("version").Kind() == wire.KindString,
							"a name and a version, both strings", show(info))
					}
				})
			},
		},
		{
			ID: "client-icons", Title: "icons have a source, sizes and a theme as the schema says", Layer: check.Feature,
			Requirements: []string{"legacy/icon-shape", "modern/icons-shape"},
			Judge: func(c *check.Case) {
				eachIcon(c, func(f *check.Frame, icon wire.Raw) {
					fault := check.IconFault(icon)
					want(c, f, fault == "", "an icon as the schema has it", fault)
				})
			},
		},
		{
			ID: "client-icon-scheme", Title: "icons are published by https or as data", Layer: check.Feature,
			Requirements: []string{"modern/icons-src-scheme"},
			Judge: func(c *check.Case) {
				eachIcon(c, func(f *check.Frame, icon wire.Raw) {
					scheme, _, found := strings.Cut(strings.ToLower(str(icon.Get("src"))), ":")
					if icon.Get("src").Kind() == wire.KindString {
						want(c, f, found && (scheme == "https" || scheme == "http" || scheme == "data"), "an icon that others may load", show(icon.Get("src")))
					}
				})
			},
		},
		{
			ID: "client-capability-shape", Title: "capabilities are objects and their flags are booleans", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-shape"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					if k.open == nil {
						continue
					}
					for area, v := range k.caps().Members() {
						switch area {
						case "roots", "sampling", "elicitation", "experimental", "tasks":
							want(c, k.open, v.Kind() == wire.KindObject, "an object as capability "+area, show(v))
						}
						if b := v.Get("listChanged"); b != nil && area == "roots" {
							want(c, k.open, b.Kind() == wire.KindBool, "a boolean as roots.listChanged", show(b))
						}
					}
				}
			},
		},
		{
			ID: "client-info-types", Title: "what the client says of itself beyond its name has the right types", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-optional-info"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					if k.open == nil {
						continue
					}
					info := k.open.Params.Get("clientInfo")
					for _, m := range []struct {
						member, since string
						kind          wire.Kind
					}{
						{"title", "2025-06-18", wire.KindString}, {"description", "2025-11-25", wire.KindString},
						{"websiteUrl", "2025-11-25", wire.KindString}, {"icons", "2025-11-25", wire.KindArray},
					} {
						if v := info.Get(m.member); v != nil && c.AtLeast(m.since) {
							want(c, k.open, v.Kind() == m.kind, m.kind.String()+" as "+m.member, show(v))
						}
					}
				}
			},
		},
		{
			ID: "client-extension-identifiers", Title: "extensions are named as keys of _meta with a prefix are", Layer: check.Protocol,
			Requirements: []string{"modern/ext-identifier-syntax"},
			Judge: func(c *check.Case) {
				eachExtension(c, func(f *check.Frame, key string, _ wire.Raw) {
					want(c, f, strings.Contains(key, "/") && check.MetaKeySyntax(key), "an identifier with a prefix, as com.example/name", strconv.Quote(key))
				})
			},
		},
		{
			ID: "client-extension-settings", Title: "the settings of an extension are an object", Layer: check.Protocol,
			Requirements: []string{"modern/ext-settings-object"},
			Judge: func(c *check.Case) {
				eachExtension(c, func(f *check.Frame, key string, v wire.Raw) {
					want(c, f, v.Kind() == wire.KindObject, "an object as settings of "+key, show(v))
				})
			},
		},
		{
			ID: "client-extension-fallback", Title: "no extension is used that the server does not have", Layer: check.Protocol,
			Requirements: []string{"modern/ext-fallback"},
			Judge: func(c *check.Case) {
				// Our server declares no extension, and those that are known
				// have methods of their own.
				eachRequest(c, func(k *talk, f *check.Frame) {
					area, _, _ := strings.Cut(f.Method, "/")
					caps := k.offered()
					switch {
					case caps == nil || caps.Get("extensions") != nil:
					case extensionMethods[area]:
						c.Broken(f, "the core protocol, as the server declares no extension", f.Method)
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-annotations", Title: "annotations of content name known audiences and a priority from 0 to 1", Layer: check.Feature,
			Requirements: []string{"legacy/annotations-range"},
			Judge: func(c *check.Case) {
				eachAnnotated(c, func(f *check.Frame, notes wire.Raw) {
					fault, _ := check.AnnotationsFault(notes)
					want(c, f, fault == "", "annotations as the schema has them", fault)
				})
			},
		},
		{
			ID: "client-last-modified", Title: "lastModified is an ISO 8601 time", Layer: check.Feature, Soft: true,
			Requirements: []string{"legacy/annotations-last-modified"},
			Judge: func(c *check.Case) {
				eachAnnotated(c, func(f *check.Frame, notes wire.Raw) {
					if notes.Get("lastModified") != nil {
						_, fault := check.AnnotationsFault(notes)
						want(c, f, fault == "", "an ISO 8601 time", fault)
					}
				})
			},
		},
		{
			ID: "client-unknown-meta-tolerated", Title: "keys of _meta that the client does not know do no harm", Layer: check.Protocol,
			Requirements: []string{"legacy/meta-extra-keys-tolerated"},
			Judge: func(c *check.Case) {
				// The server pings with such keys, and without.
				for _, k := range talks(c) {
					plain := false
					for _, req := range k.asked("ping") {
						a := k.replies[req]
						switch {
						case req.Params.Get("_meta") == nil:
							plain = plain || a.OK()
						case !plain: // it answers no ping, whatever stands in it
						case a != nil && a.Failed():
							c.Broken(a, "a result, as to a ping without them", "error "+show(a.Error))
						case a != nil:
							c.Saw()
						case k.unansweredThough([]*check.Frame{req}, req):
							c.Broken(req, "a result", "no answer")
						}
					}
				}
			},
		},
	}
}

// extensionMethods are the areas of the methods of known extensions.
var extensionMethods = map[string]bool{"tasks": true}

// eachMeta calls fn for every _meta that the client sent where the protocol has
// one.
func eachMeta(c *check.Case, fn func(f *check.Frame, meta wire.Raw)) {
	each(c, func(_ *talk, f *check.Frame) {
		for _, v := range []wire.Raw{f.Params, f.Result} {
			check.Metas(v, func(m wire.Raw) { fn(f, m) })
		}
	})
}

func eachMetaKey(c *check.Case, fn func(f *check.Frame, key string, v wire.Raw)) {
	eachMeta(c, func(f *check.Frame, meta wire.Raw) {
		for key, v := range meta.Members() {
			fn(f, key, v)
		}
	})
}

// eachIcon calls fn for every icon by which the client shows itself.
func eachIcon(c *check.Case, fn func(f *check.Frame, icon wire.Raw)) {
	each(c, func(_ *talk, f *check.Frame) {
		for _, info := range []wire.Raw{f.Params.Get("clientInfo"), f.Params.Get("_meta").Get(metaInfo)} {
			for icon := range info.Get("icons").Elems() {
				fn(f, icon)
			}
		}
	})
}

// eachExtension calls fn for every extension that a request declares.
func eachExtension(c *check.Case, fn func(f *check.Frame, key string, settings wire.Raw)) {
	eachRequest(c, func(_ *talk, f *check.Frame) {
		for key, v := range f.Params.Get("_meta").Get(metaCaps).Get("extensions").Members() {
			fn(f, key, v)
		}
	})
}

// eachAnnotated calls fn for the annotations of content that the client sent.
func eachAnnotated(c *check.Case, fn func(f *check.Frame, notes wire.Raw)) {
	each(c, func(_ *talk, f *check.Frame) {
		content := f.Result.Get("content")
		if n := content.Get("annotations"); n != nil {
			fn(f, n)
		}
		for b := range content.Elems() {
			if n := b.Get("annotations"); n != nil {
				fn(f, n)
			}
		}
	})
}
