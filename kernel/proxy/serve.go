package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrClosed is returned by [Proxy.Serve] after [Proxy.Shutdown].
var ErrClosed = errors.New("proxy: closed")

// maxHeader bounds the header of a request, in bytes.
const maxHeader = 1 << 20

// Listen opens a TCP listener for a proxy. An address without a host is one of
// this machine's own, such as 127.0.0.1.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// Serve serves the clients of a listener until [Proxy.Shutdown], and then
// returns [ErrClosed]. Without Config.Remote it takes only listeners of this
// machine.
func (p *Proxy) Serve(l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); ok && !p.cfg.Remote && !addr.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not an address of this machine alone", l.Addr()), l.Close())
	}
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	p.mu.Lock()
	if p.closed || p.server != nil {
		p.mu.Unlock()
		return errors.Join(ErrClosed, l.Close())
	}
	p.server = server
	p.idle.Go(p.endIdle)
	p.mu.Unlock()
	err := server.Serve(&limited{Listener: l, free: make(chan struct{}, p.cfg.Limits.Connections), done: make(chan struct{})})
	if errors.Is(err, http.ErrServerClosed) {
		return ErrClosed
	}
	return err
}

// endIdle ends runs that have been silent, now and then.
func (p *Proxy) endIdle() {
	every := time.NewTicker(max(min(p.cfg.Idle/4, time.Minute), time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-every.C:
			p.EndIdle()
		}
	}
}

// EndIdle ends the runs that have been silent for Config.Idle. [Proxy.Serve]
// sees to that by itself.
func (p *Proxy) EndIdle() { p.book.sweep(p.cfg.Now().Add(-p.cfg.Idle)) }

// Shutdown stops taking requests, lets those under way end, and ends all runs.
// When ctx is done first, the rest is broken off; their traces hold what had
// arrived. It returns what went wrong with the traces.
//
// Where the Proxy is the handler of another server, that one is to be shut down
// before; requests that it still sends are refused.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	again, server := p.closed, p.server
	p.closed = true
	p.mu.Unlock()
	if again {
		return ErrClosed
	}
	close(p.stop)
	p.idle.Wait()
	var err error
	if server != nil {
		if err = server.Shutdown(ctx); err != nil {
			err = errors.Join(err, server.Close())
			ctx = context.WithoutCancel(ctx) // what is left ends now
		}
	}
	recorded := make(chan struct{})
	go func() {
		p.work.Wait()
		close(recorded)
	}()
	select {
	case <-recorded:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return errors.Join(err, p.book.close())
}

// Flush waits until everything that arrived is recorded, and thus for answers
// that are still on their way.
func (p *Proxy) Flush() { p.book.flush() }

// limited is a listener with a limit of connections.
type limited struct {
	net.Listener
	free chan struct{}
	once sync.Once
	done chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	release func()
}

func (c *counted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
