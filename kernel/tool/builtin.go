package tool

import (
	"errors"
	"os"
	"time"

	"github.com/rax-project/rax/kernel"
)

// Options say which of rax's tools there are and what they may do. The zero
// Options give those that need neither files nor programs.
type Options struct {
	// Root is the directory tree of the file tools and the working directory of
	// the shell; without one there are no file tools. The caller closes it,
	// after the last call.
	Root *os.Root
	// AllowShell adds the shell. It is no sandbox: a command can do whatever the
	// user can, outside of Root as well.
	AllowShell bool
	// AllowPrivateNet lets http_get connect to this machine and to private
	// networks. Link-local addresses, under which clouds give out credentials,
	// stay refused.
	AllowPrivateNet bool
	// Now is the clock of the time tool; nil means [time.Now].
	Now func() time.Time
}

// Builtin returns the tools of rax for a run: tools.list, calculator, time,
// json_query, http_get, a memory that is new with each call, and as far as the
// options allow file_read, file_write, file_list, grep and shell. Zone names of
// the time tool come from the system; a program that must not depend on it
// imports time/tzdata.
func Builtin(o Options) ([]kernel.Tool, error) {
	if o.AllowShell && o.Root == nil {
		return nil, errors.New("the shell needs a root to work in")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	tools := []kernel.Tool{List(), calculator(), timeTool(o.Now), jsonQuery(), httpGet(o.AllowPrivateNet)}
	tools = append(tools, newMemory().tools()...)
	if o.Root != nil {
		f := files{o.Root}
		tools = append(tools, fileRead(f), fileWrite(f), fileList(f), grep(f))
	}
	if o.AllowShell {
		tools = append(tools, shell(o.Root.Name(), shellEnv()))
	}
	return tools, nil
}

// NewBuiltin returns a registry of the tools of rax.
func NewBuiltin(limits Limits, o Options) (*Registry, error) {
	tools, err := Builtin(o)
	if err != nil {
		return nil, err
	}
	r := NewRegistry(limits)
	for _, t := range tools {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}
