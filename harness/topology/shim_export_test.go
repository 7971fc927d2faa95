package topology

import "context"

// CompileShim compiles the shim or finds it compiled; env is what loads it, with its
// state in these files.
func CompileShim(ctx context.Context) (env func(clock, synced string) []string, err error) {
	s, err := compileShim(ctx, func(string) {})
	if err != nil {
		return nil, err
	}
	return s.env, nil
}

// Synced reads a table: how many bytes of each file were synced. exists says what is there.
func Synced(table []byte, exists func(string) bool) (map[string]int64, error) {
	records, err := parseSynced(table)
	if err != nil {
		return nil, err
	}
	return byPath(records, func(path string) (bool, error) { return exists(path), nil })
}

// CutFolder cuts the append-only files of a data folder, and says so.
func CutFolder(dir string) (proof string, err error) {
	files, err := cutFolder(dir)
	return lossProof(files), err
}

// SyncedFile is the name of the table in a node's data folder, AOFDir that of the folder of
// its append-only files.
const (
	SyncedFile = syncedFile
	AOFDir     = aofDir
)
