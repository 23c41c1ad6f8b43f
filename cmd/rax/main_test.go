package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts and golden files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rax":          main,
		"rax-diagnose": main,
	})
}

// TestScripts runs the commands as a user would, one script a behaviour.
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("../../fixtures")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("RAX_TRACE_DIR", filepath.Join(env.WorkDir, "traces"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			return os.Mkdir(filepath.Join(env.WorkDir, "traces"), 0o700)
		},
	})
}
