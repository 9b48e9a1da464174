package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/runtime/bridge"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// closeTimeout bounds the end of all servers, whose carriers have bounds of their
// own.
const closeTimeout = 30 * time.Second

type bridgeFlags struct {
	listen          string
	stdio           bool
	shared, verbose bool
	headers         []string
	origins, hosts  []string
	maxSessions     int
	sessionTimeout  time.Duration
}

func bridgeCommand() *cobra.Command {
	var f bridgeFlags
	cmd := &cobra.Command{
		Use:   "bridge (--listen HOST:PORT | --stdio) [flags] (URL | -- CMD ARGS…)",
		Short: "Put another transport or revision in front of a server",
		Long: `Serves a server that is started as CMD, or reached at URL, over HTTP (--listen)
or on stdin and stdout (--stdio), in whatever revision each client speaks.

With --listen it serves Streamable HTTP at the path /mcp and the older HTTP+SSE
at /sse, until it is interrupted. Requests from web pages of other machines are
refused (Origin, Host), unless --allow-origin and --allow-host name them.

Where client and server speak the same revision, messages are passed byte for
byte but for ids, requestId and progressToken. Where they do not, they are
converted, and what the other revision cannot say is logged, each loss once.

Each session has a server of its own, which ends with it: a process, or a
session at URL. With --shared all sessions share one, which then cannot ask its
clients anything. Requests of 2026-07-28, which has no sessions, always do. When
a process ends, what waits for it is answered with an error that has its exit
code and the end of what it wrote to stderr; the session is over, and the next
one starts a new process. A process gets all variables of this one's
environment, and its stderr is passed on.

In the value of a --header, ${NAME} stands for a variable of the environment, so
that a secret need not stand on the command line. Headers are never logged.

Exit status: 0 after an interrupt, or when stdin has ended; 2 the command line
makes no sense; 3 with --stdio, the server has ended or its stream has; 5 the
address cannot be listened at, or serving failed.`,
		Example: `  goldwire bridge --listen :8080 -- npx -y @modelcontextprotocol/server-everything
  goldwire bridge --listen :8080 http://localhost:3000/sse
  goldwire bridge --stdio --header 'Authorization: Bearer ${TOKEN}' https://example.com/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "", "serve over HTTP at `HOST:PORT`; without a host only this machine is served, port 0 is a free one")
	fl.BoolVar(&f.stdio, "stdio", false, "serve one client on stdin and stdout")
	fl.BoolVar(&f.shared, "shared", false, "let all sessions share one server")
	headerFlag(cmd, &f.headers)
	fl.StringArrayVar(&f.origins, "allow-origin", nil, "an `ORIGIN` whose pages may send requests, as https://app.example, * for all; may be repeated. Without it those of this machine")
	fl.StringArrayVar(&f.hosts, "allow-host", nil, "a `NAME` other than those of this machine by which a request that comes from it may call the bridge, * for all; may be repeated")
	fl.IntVar(&f.maxSessions, "max-sessions", 256, "how many sessions there are at most; the one that was idle for longest gives way")
	fl.DurationVar(&f.sessionTimeout, "session-timeout", time.Hour, "how long a session may be idle over HTTP before it ends, 0 for ever")
	fl.BoolVar(&f.verbose, "verbose", false, "log more")
	return cmd
}

func (f *bridgeFlags) run(cmd *cobra.Command, args []string) error {
	usage := func(format string, args ...any) error { return &exitError{exitUsage, fmt.Errorf(format, args...)} }
	changed := cmd.Flags().Changed
	switch {
	case changed("listen") == f.stdio:
		return usage("one of --listen and --stdio says where clients come from")
	case f.stdio && (changed("allow-origin") || changed("allow-host") || changed("max-sessions") || changed("session-timeout") || f.shared):
		return usage("--stdio has one session: the flags for HTTP, and --shared, do not go with it")
	case f.maxSessions <= 0:
		return usage("--max-sessions %d: want more than none", f.maxSessions)
	case f.sessionTimeout < 0:
		return usage("--session-timeout %s: want no less than nothing", f.sessionTimeout)
	}
	level := slog.LevelInfo
	if f.verbose {
		level = slog.LevelDebug
	}
	stderr := cmd.ErrOrStderr()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	t, rest, err := targetOf(cmd, args, f.headers)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("a URL is all there is to say: %q is too much", rest[0])
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	t.stderr = func(line string) { fmt.Fprintln(stderr, "server:", report.Plain(line)) }
	t.log = log
	b := bridge.New(t.dialer(), bridge.Options{Shared: f.shared, MaxSessions: f.maxSessions, Version: version(), Logger: log})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = b.Close(ctx)
	}()
	if f.stdio {
		err := jsonrpc.Serve(cmd.Context(), jsonl.Stdio(), b)
		switch {
		case cmd.Context().Err() != nil:
			return nil
		case b.Err() != nil:
			return &exitError{exitTarget, b.Err()}
		case err != nil:
			return &exitError{exitNoResult, err}
		}
		return nil
	}
	if err := f.serve(cmd.Context(), b, log, stderr); err != nil && !errors.Is(err, context.Canceled) {
		return &exitError{exitNoResult, err}
	}
	return nil
}

// serve serves the bridge over both HTTP transports until ctx ends, and says
// where.
func (f *bridgeFlags) serve(ctx context.Context, b *bridge.Bridge, log *slog.Logger, out io.Writer) error {
	l, err := streamhttp.Listen(ctx, f.listen)
	if err != nil {
		return err
	}
	idle := f.sessionTimeout
	if idle == 0 {
		idle = -1
	}
	h := streamhttp.NewHandler(b, streamhttp.HandlerOptions{
		AllowedOrigins: f.origins, AllowedHosts: f.hosts, MaxSessions: f.maxSessions, SessionTimeout: idle, Logger: log,
	})
	const messages = "/message"
	old := ssehttp.NewHandler(b, ssehttp.HandlerOptions{
		AllowedOrigins: f.origins, AllowedHosts: f.hosts, MaxSessions: f.maxSessions, MessagePath: messages, Logger: log,
	})
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sseDrain)
		defer cancel()
		_ = old.Shutdown(ctx)
	})
	defer func() {
		if !stop() {
			<-over
		}
	}()
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		log.Warn("other machines can reach this address, and nobody is asked who they are")
	}
	fmt.Fprintf(out, "serving at http://%s/mcp, HTTP+SSE at http://%[1]s/sse\n", l.Addr())
	return streamhttp.Serve(ctx, l, h, func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/mcp", h)
		mux.Handle("/sse", old)
		mux.Handle(messages, old)
		return streamhttp.CORS(mux, f.origins)
	})
}

// target is a server as the command line names it.
type target struct {
	url     string
	header  http.Header
	command []string
	stderr  func(line string)
	log     *slog.Logger
}

// targetOf reads the server: the command behind --, or else the first argument, a
// URL. rest are the other arguments.
func targetOf(cmd *cobra.Command, args, headers []string) (t *target, rest []string, err error) {
	t = &target{}
	if t.header, err = headersOf(headers); err != nil {
		return nil, nil, err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		rest, t.command = args[:dash], args[dash:]
		switch {
		case len(t.command) == 0:
			return nil, nil, errors.New("no command stands behind --")
		case len(headers) > 0:
			return nil, nil, errors.New("--header is for a URL")
		}
		return t, rest, nil
	}
	if len(args) == 0 {
		return nil, nil, errors.New("no server is named: a URL, or -- and a command")
	}
	t.url = args[0]
	if _, err := streamhttp.ParseURL(t.url); err != nil {
		if !strings.Contains(t.url, "://") {
			return nil, nil, fmt.Errorf("%w (put -- before a command)", err)
		}
		return nil, nil, err
	}
	return t, args[1:], nil
}

// dialer reaches the server.
func (t *target) dialer() jsonrpc.Dialer {
	if t.url != "" {
		return &streamhttp.Endpoint{URL: t.url, Header: t.header, Logger: t.log}
	}
	// The variables stand there literally, so that those that look like secrets
	// are kept out of what is quoted of stderr.
	env := map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			env[name] = value
		}
	}
	return &jsonl.Process{Path: t.command[0], Args: t.command[1:], Env: env, Inherit: []string{}, Stderr: t.stderr}
}

func headerFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVarP(to, "header", "H", nil, "a `HEADER` for requests to URL, as 'Name: value'; ${NAME} in it stands for a variable of the environment; may be repeated")
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// headersOf reads headers. Errors name none of their values.
func headersOf(list []string) (http.Header, error) {
	h := http.Header{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
			return nil, errors.New("--header: want 'Name: value'")
		}
		value, err := headerValue("--header "+name, value)
		if err != nil {
			return nil, err
		}
		h.Add(name, value)
	}
	return h, nil
}

// headerValue puts in what the variables in the value of a header stand for. Its
// errors name the flag that gave the value, as it is called in flag.
func headerValue(flag, value string) (string, error) {
	var missing string
	value = variable.ReplaceAllStringFunc(strings.TrimSpace(value), func(v string) string {
		text, set := os.LookupEnv(v[2 : len(v)-1])
		if !set {
			missing = v
		}
		return text
	})
	switch {
	case missing != "":
		return "", fmt.Errorf("%s: the variable %s is not set", flag, missing)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return "", fmt.Errorf("%s: the value cannot be sent", flag)
	}
	return value, nil
}

// addBearer adds the header that --bearer stands for, where it is given.
func addBearer(h http.Header, token string) error {
	if token == "" {
		return nil
	}
	token, err := headerValue("--bearer", token)
	if err != nil {
		return err
	}
	h.Add("Authorization", "Bearer "+token)
	return nil
}
