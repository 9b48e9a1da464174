package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Stats is what a program of package program says of itself when it gets
// SIGUSR1, after a collection.
type Stats struct {
	Goroutines, TotalAlloc, Conns int64
}

// Server is a server that was started as a child: on a pair of pipes, or with
// an address that it listens on.
type Server struct {
	Addr string

	cmd    *exec.Cmd
	in     *os.File // of the pipes, nil without
	out    *os.File
	stats  chan Stats
	listen chan string
	last   string // line of stderr
	mu     sync.Mutex
}

// startTimeout bounds how long a server may take to listen or to answer to a
// signal.
const startTimeout = 20 * time.Second

func start(command []string, args ...string) *Server {
	s := &Server{cmd: exec.Command(command[0], append(command[1:len(command):len(command)], args...)...),
		stats: make(chan Stats, 1), listen: make(chan string, 1)}
	return s
}

// StartHTTP starts a server that listens.
func StartHTTP(command []string) (*Server, error) {
	s := start(command, "-http", "127.0.0.1:0")
	if err := s.run(); err != nil {
		return nil, err
	}
	select {
	case s.Addr = <-s.listen:
		if s.Addr == "" {
			return nil, errors.Join(fmt.Errorf("%s does not listen: %s", command[0], s.lastLine()), s.Stop())
		}
		return s, nil
	case <-time.After(startTimeout):
		return nil, errors.Join(fmt.Errorf("%s does not listen", command[0]), s.Stop())
	}
}

// StartPipes starts a server on a pair of pipes with blocking ends.
func StartPipes(command []string) (*Server, error) {
	s := start(command, "-stdio")
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	s.cmd.Stdin, s.cmd.Stdout = childIn, childOut
	s.in, s.out = in, out
	err = errors.Join(s.run(), childIn.Close(), childOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return s, nil
}

func (s *Server) run() error {
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go s.watch(stderr)
	return nil
}

// watch reads stderr until the child ends.
func (s *Server) watch(r io.Reader) {
	defer close(s.listen)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "LISTEN":
			s.listen <- rest
		case "STATS":
			var st Stats
			if json.Unmarshal([]byte(rest), &st) == nil {
				s.stats <- st
			}
		default:
			s.mu.Lock()
			s.last = lines.Text()
			s.mu.Unlock()
		}
	}
	_, _ = io.Copy(io.Discard, r)
}

func (s *Server) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stats makes the server collect its garbage and say what it holds.
func (s *Server) Stats() (Stats, error) {
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return Stats{}, err
	}
	select {
	case st := <-s.stats:
		return st, nil
	case <-time.After(startTimeout):
		return Stats{}, errors.New("the server does not answer to SIGUSR1")
	}
}

// Stop ends the server: its stdin, SIGTERM if it listens, and after two
// seconds SIGKILL.
func (s *Server) Stop() error {
	if s.in != nil {
		_ = s.in.Close()
	} else {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	kill := time.AfterFunc(2*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // how it ends says nothing of what was measured
	if s.out != nil {
		_ = s.out.Close()
	}
	return nil
}

// CPU is the processor time of all live threads of a process in nanoseconds.
func CPU(pid int) int64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	total := int64(0)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		used, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(used, 10, 64)
		total += n
	}
	return total
}

// Resident is what a process has in memory, and Peak the most since
// ResetPeak, in bytes.
func Resident(pid int) float64 { return status(pid, "VmRSS") }

// Peak is the most that was in memory since ResetPeak.
func Peak(pid int) float64 { return status(pid, "VmHWM") }

// ResetPeak forgets what was in memory before.
func ResetPeak(pid int) { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) }

func status(pid int, name string) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 64)
			return n * 1024
		}
	}
	return 0
}
