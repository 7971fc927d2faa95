//go:build !soak

package main

// soak: everything is run, however long it takes.
const soak = false
