//go:build e2e

package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

const noteURI = "test://note"

// server has the tool work {"seconds", "tell"}, which reports progress at once
// if it is to tell, and then takes its time, and a resource that can be
// watched.
func server(t *testing.T) (address string, hub *jsonrpc.Hub) {
	hub = &jsonrpc.Hub{}
	work := func(ctx context.Context, arguments wire.Raw) error {
		if tell, _ := arguments.Get("tell").Bool(); tell {
			if err := jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "begun"); err != nil {
				return err
			}
		}
		seconds, _ := arguments.Get("seconds").Float()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(seconds * float64(time.Second))):
			return nil
		}
	}
	h := streamhttp.NewHandler(compat.Revisions(
		legacy.Server{
			Info: legacy.Implementation{Name: "proxied", Version: "1.0.0"}, Hub: hub,
			ListTools: func(context.Context, *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
				return &legacy.ListToolsResult{Tools: []legacy.Tool{{Name: "work"}}}, nil
			},
			CallTool: func(ctx context.Context, p *legacy.CallToolParams) (*legacy.CallToolResult, error) {
				return &legacy.CallToolResult{Content: []legacy.ContentBlock{}}, work(ctx, p.Arguments)
			},
			ListResources: func(context.Context, *legacy.ListResourcesParams) (*legacy.ListResourcesResult, error) {
				return &legacy.ListResourcesResult{Resources: []legacy.Resource{{URI: noteURI, Name: "note"}}}, nil
			},
			ReadResource: func(context.Context, *legacy.ReadResourceParams) (*legacy.ReadResourceResult, error) {
				return &legacy.ReadResourceResult{}, nil
			},
			Subscribe:   jsonrpc.AllowNil(func(context.Context, *legacy.SubscribeParams) (*legacy.EmptyResult, error) { return nil, nil }),
			Unsubscribe: jsonrpc.AllowNil(func(context.Context, *legacy.UnsubscribeParams) (*legacy.EmptyResult, error) { return nil, nil }),
		},
		modern.Server{
			Info: modern.Implementation{Name: "proxied", Version: "1.0.0"}, Hub: hub,
			ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
				return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "work"}}, CacheScope: modern.CacheScopePublic}, nil
			},
			CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
				return &modern.CallToolResult{Content: []modern.ContentBlock{}}, work(ctx, p.Arguments)
			},
			ListResources: func(context.Context, *modern.ListResourcesParams) (*modern.ListResourcesResult, error) {
				return &modern.ListResourcesResult{Resources: []modern.Resource{{URI: noteURI, Name: "note"}}, CacheScope: modern.CacheScopePublic}, nil
			},
			ReadResource: func(context.Context, *modern.ReadResourceParams) (*modern.ReadResourceResult, error) {
				return &modern.ReadResourceResult{CacheScope: modern.CacheScopePublic}, nil
			},
			ResourcesSubscribe: true,
		},
	))
	require.NoError(t, h.Err())
	s := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); s.Close() })
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return u.Host, hub
}

// client of one era.
type client struct {
	work      func(ctx context.Context, arguments string) error
	subscribe func(ctx context.Context) error
	updated   chan string
	suspected atomic.Int64 // reports of a proxy that holds back
}

func dial(t *testing.T, address, revision string) *client {
	c := &client{updated: make(chan string, 100)}
	e := streamhttp.URL("http://" + address + "/mcp")
	e.Logger = slog.New(slog.DiscardHandler)
	opened := make(chan struct{}, 100)
	e.Notices = append(e.Notices, func(n streamhttp.Notice) {
		switch n.Kind {
		case streamhttp.ProxySuspected:
			c.suspected.Add(1)
		case streamhttp.StreamOpened:
			opened <- struct{}{}
		}
	})
	if revision == modern.Revision {
		s, err := modern.Connect(t.Context(), e, modern.Client{
			Info: modern.Implementation{Name: "client", Version: "1.0.0"},
			ResourceUpdated: func(_ context.Context, p *modern.ResourceUpdatedParams) error {
				c.updated <- p.URI
				return nil
			},
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		c.work = func(ctx context.Context, arguments string) error {
			_, err := s.CallTool(ctx, &modern.CallToolParams{Name: "work", Arguments: wire.Raw(arguments)})
			return err
		}
		c.subscribe = func(ctx context.Context) error {
			_, err := s.Listen(ctx, &modern.SubscriptionsListenParams{Notifications: modern.SubscriptionFilter{ResourceSubscriptions: []string{noteURI}}})
			return err
		}
		return c
	}
	s, err := legacy.Connect(t.Context(), e, legacy.Client{
		Info: legacy.Implementation{Name: "client", Version: "1.0.0"},
		ResourceUpdated: func(_ context.Context, p *legacy.ResourceUpdatedParams) error {
			c.updated <- p.URI
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c.work = func(ctx context.Context, arguments string) error {
		_, err := s.CallTool(ctx, &legacy.CallToolParams{Name: "work", Arguments: wire.Raw(arguments)})
		return err
	}
	c.subscribe = func(ctx context.Context) error {
		if _, err := s.Subscribe(ctx, &legacy.SubscribeParams{URI: noteURI}); err != nil {
			return err
		}
		select {
		case <-opened:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c
}

// proxies by name: from a server's address to the one that clients use.
var proxies = map[string]func(t *testing.T, server string) string{
	"no proxy": func(_ *testing.T, server string) string { return server },
	"nginx":    func(t *testing.T, server string) string { return nginx(t, "", server) },
	"nginx that ignores the header": func(t *testing.T, server string) string {
		return nginx(t, "proxy_ignore_headers X-Accel-Buffering;", server)
	},
	"haproxy": func(t *testing.T, server string) string { return haproxy(t, server, "") },
	"haproxy that does not wait": func(t *testing.T, server string) string {
		return haproxy(t, server, "option http-no-delay")
	},
}

// nginx buffers, and gives its servers the requests in turn, as it does by
// default.
func nginx(t *testing.T, more string, servers ...string) string {
	upstream := ""
	for _, s := range servers {
		upstream += " server " + s + ";"
	}
	dir, address := t.TempDir(), freeAddress(t)
	config := fmt.Sprintf(`
daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	upstream servers {%[3]s }
	server {
		listen %[2]s;
		location / {
			proxy_pass http://servers;
			proxy_set_header Host $http_host;
			proxy_buffering on;
			%[4]s
		}
	}
}
`, dir, address, upstream, more)
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o644))
	run(t, address, "nginx", "-p", dir, "-e", "stderr", "-c", file)
	return address
}

// haproxy gives up on a side that is silent for 20 seconds. By default it waits
// up to 200 ms for more before it passes on the beginning of a response.
func haproxy(t *testing.T, server, more string) string {
	dir, address := t.TempDir(), freeAddress(t)
	config := fmt.Sprintf(`
defaults
	mode http
	timeout connect 5s
	timeout client 20s
	timeout server 20s
	%s
frontend clients
	bind %s
	default_backend servers
backend servers
	server one %s
`, more, address, server)
	file := filepath.Join(dir, "haproxy.cfg")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o644))
	run(t, address, "haproxy", "-q", "-db", "-f", file)
	return address
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// run starts a program that listens, waits until it does, and ends it with
// the test.
func run(t *testing.T, address, name string, args ...string) {
	if _, err := exec.LookPath(name); err != nil && os.Getenv("PATH") != "" {
		name = filepath.Join("/usr/sbin", name) // not in the path of everybody
	}
	var said strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start(), "install.sh installs it")
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", name, &said)
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond, "%s does not listen", name)
}

var eras = []string{legacy.Revision, modern.Revision}

// soon is how late an event may come through a proxy.
func soon(proxy string) time.Duration {
	if proxy == "haproxy" {
		return 500 * time.Millisecond
	}
	return 200 * time.Millisecond
}

var passing = []string{"no proxy", "nginx", "haproxy", "haproxy that does not wait"}

// TestE2EProxyPassesProgress: what a server says at the beginning of a call of
// five seconds is heard at once.
func TestE2EProxyPassesProgress(t *testing.T) {
	t.Parallel()
	for _, name := range passing {
		for _, revision := range eras {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				address, _ := server(t)
				c := dial(t, proxies[name](t, address), revision)
				began := time.Now()
				var first, took time.Duration
				ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { first = time.Since(began) }})
				require.NoError(t, c.work(ctx, `{"seconds":5,"tell":true}`))
				took = time.Since(began)
				t.Logf("progress after %s, the answer after %s", first.Round(time.Millisecond), took.Round(time.Millisecond))
				require.NotZero(t, first, "no progress came")
				require.Less(t, first, soon(name))
				require.Less(t, took, 5*time.Second+soon(name))
				require.Zero(t, c.suspected.Load(), "nothing was held back")
			})
		}
	}
}

// TestE2EProxyPassesUpdates: what a server says outside of calls comes through
// as well.
func TestE2EProxyPassesUpdates(t *testing.T) {
	t.Parallel()
	for _, name := range passing {
		for _, revision := range eras {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				address, hub := server(t)
				c := dial(t, proxies[name](t, address), revision)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				require.NoError(t, c.subscribe(ctx))
				began := time.Now()
				hub.ResourceUpdated(ctx, noteURI)
				select {
				case uri := <-c.updated:
					require.Equal(t, noteURI, uri)
					require.Less(t, time.Since(began), soon(name))
				case <-ctx.Done():
					require.Fail(t, "no update came")
				}
			})
		}
	}
}

// TestE2EProxySuspected: a client says so when a proxy holds back the
// keep-alives of a long call, and says nothing when they come, however slow
// the server is.
func TestE2EProxySuspected(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no proxy", "nginx", "nginx that ignores the header", "haproxy"} {
		for _, revision := range eras {
			for kind, arguments := range map[string]string{"silent": `{"seconds":32}`, "telling": `{"seconds":32,"tell":true}`} {
				t.Run(name+"/"+revision+"/"+kind, func(t *testing.T) {
					t.Parallel()
					address, _ := server(t)
					c := dial(t, proxies[name](t, address), revision)
					ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(time.Minute), Progress: func(jsonrpc.Progress) {}})
					require.NoError(t, c.work(ctx, arguments))
					require.Equal(t, name == "nginx that ignores the header", c.suspected.Load() > 0)
				})
			}
		}
	}
}
