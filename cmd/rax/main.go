// Command rax answers one question about an AI agent's run: why did it do that?
package main

import "os"

func main() {
	os.Exit(run(os.Args, system{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		getenv: os.Getenv, home: os.UserHomeDir,
	}))
}
