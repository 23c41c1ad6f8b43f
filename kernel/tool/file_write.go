package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/rax-project/rax/kernel"
)

type fileWriteArgs struct {
	Path    string `json:"path" jsonschema:"file relative to the root; missing directories are made"`
	Content string `json:"content" jsonschema:"the whole text to write"`
	Mode    string `json:"mode,omitempty" jsonschema:"create (default) fails if the file exists, overwrite replaces it, append adds to its end"`
}

const maxWrite = 1 << 20

func fileWrite(f files) kernel.Tool {
	return Func("file_write",
		"Write a text file. By default it must not exist yet. A file is replaced as a whole or not at all.",
		kernel.EffectWrite,
		func(ctx context.Context, a fileWriteArgs) (kernel.ToolResult, error) {
			name, err := clean(a.Path)
			switch {
			case err != nil:
				return kernel.ToolResult{}, err
			case name == ".":
				return kernel.ToolResult{}, errors.New("the path is the root itself")
			case len(a.Content) > maxWrite:
				return kernel.ToolResult{}, fmt.Errorf("the content is larger than %d bytes: write it in parts with append", maxWrite)
			}
			if err := f.checkTarget(name); err != nil {
				return kernel.ToolResult{}, err
			}
			if dir := path.Dir(name); dir != "." {
				if err := f.root.MkdirAll(dir, 0o755); err != nil {
					return kernel.ToolResult{}, plainError(err)
				}
			}
			if err := ctx.Err(); err != nil {
				return kernel.ToolResult{}, err
			}
			done := "written"
			switch a.Mode {
			case "overwrite":
				err = f.replace(name, a.Content)
			case "append":
				done = "appended"
				err = f.appendTo(name, a.Content)
			default:
				err = f.create(name, a.Content)
			}
			if err != nil {
				return kernel.ToolResult{}, plainError(err)
			}
			summary := count(len(a.Content), "byte") + " " + done
			return kernel.ToolResult{Content: summary + "\n", Summary: summary}, nil
		},
		length("path", 1, maxPath), oneOf("mode", "create", "overwrite", "append"))
}

// checkTarget refuses to write to anything but a file. A symbolic link is
// refused although it may point inside the root: renaming would replace it.
func (f files) checkTarget(name string) error {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return plainError(err)
	case info.IsDir():
		return errors.New("it is a directory")
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link: write to the file that it points to")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

// create claims the name first, so that no other writer's file is replaced.
func (f files) create(name, content string) error {
	claim, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("it exists: use mode overwrite or append, or another path")
	}
	if err != nil {
		return err
	}
	err = claim.Close()
	if err == nil {
		err = f.replace(name, content)
	}
	if err != nil {
		_ = f.root.Remove(name) // the claim
	}
	return err
}

// replace writes a file beside the target and renames it. The permissions of an
// existing target stay.
func (f files) replace(name, content string) (err error) {
	mode := fs.FileMode(0o644)
	if info, statErr := f.root.Lstat(name); statErr == nil {
		mode = info.Mode().Perm()
	}
	temp := path.Join(path.Dir(name), ".rax-"+rand.Text()+".tmp")
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.root.Remove(temp)
		}
	}()
	_, err = file.WriteString(content)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = f.root.Rename(temp, name)
	}
	return err
}

// appendTo adds to the end in one write, so that what others append at the same
// time is kept. A write that fails half-way is undone.
func (f files) appendTo(name, content string) (err error) {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if n, err := file.WriteString(content); err != nil {
		if n > 0 {
			err = errors.Join(err, file.Truncate(info.Size()))
		}
		return err
	}
	return nil
}
