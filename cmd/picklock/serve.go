package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"picklock/reports/web"
)

func newServe() *cobra.Command {
	var root, listen string
	var hosts []string
	var public bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show the store in the browser, and follow what is running",
		Long: `Show the store in the browser: search, sort and filter its tests, open their reports,
compare two of them side by side, look at the matrices and their trends, and follow a test
or a matrix that is running. It reads and never writes. Ctrl-C ends it.

It is served to this machine only. Whoever can reach it can read all that is in the store,
so another address than this machine's own must be asked for with --public. It answers
to IP addresses and to localhost; under any other name, its own in the network or that of
a proxy before it, only where --host tells that name. Otherwise the page of another site
could make a name of its own mean this address, and read the store with the reader's
browser.`,
		Example: `  picklock serve
  picklock serve --store nightly/store --listen 127.0.0.1:9000
  picklock serve --listen 192.0.2.7:8080 --public --host store.example`,
		Args: exactly(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveStore(cmd, root, listen, public, hosts)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&root, "store", "store", "folder that keeps the tests")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address and port; port 0: any that is free")
	cmd.Flags().BoolVar(&public, "public", false, "let --listen be an address that others can reach")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "answer to this name too; repeatable")
	return cmd
}

// endWithin is how long the last answers may take when the server is told to end.
const endWithin = 3 * time.Second

func serveStore(cmd *cobra.Command, root, listen string, public bool, hosts []string) (err error) {
	l, local, err := listener(listen, public)
	if err != nil {
		return err
	}
	h, err := web.New(root, web.Options{Loopback: local, Hosts: hosts})
	if errors.Is(err, web.ErrHost) {
		err = &flagError{fmt.Errorf("--host: %w", err)}
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if !local {
		fmt.Fprintf(cmd.ErrOrStderr(), "picklock: warning: whoever can reach %s can read all that is in the store %s\n", l.Addr(), root)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the store %s is at http://%s/ (Ctrl-C ends)\n", root, l.Addr())

	server := web.Server(h)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(web.Bounded(l)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-cmd.Context().Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), endWithin)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		err = errors.Join(server.Close())
		if err != nil {
			return err
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil // it did what it was there for
}

// listener listens at an address, and says whether only this machine can reach it.
func listener(at string, public bool) (l net.Listener, local bool, err error) {
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, false, &flagError{fmt.Errorf("--listen is written like 127.0.0.1:8080, not %q", at)}
	}
	if host == "" {
		return nil, false, &flagError{fmt.Errorf("--listen says nothing before the colon: it is written like 127.0.0.1%s, or 0.0.0.0%s for everybody", ":"+port, ":"+port)}
	}
	addr, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		return nil, false, &flagError{fmt.Errorf("--listen %s: %w", at, err)}
	}
	local = addr.IP.IsLoopback()
	if !local && !public {
		return nil, false, &flagError{fmt.Errorf("--listen %s is an address that others can reach, and whoever can reach it can read the whole store; --public allows that", at)}
	}
	tcp, err := net.ListenTCP("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, false, &flagError{fmt.Errorf("--listen %s: another program listens there already; choose another port, or 0 for any that is free", at)}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, false, &flagError{fmt.Errorf("--listen %s: %w", at, err)}
	case err != nil:
		return nil, false, err
	}
	return tcp, local, nil
}
