package zklock

// CachingFrom lets WithCaching keep a node after a streak of another length. After 0 it
// keeps every node.
func CachingFrom(streak int) Option {
	return func(s *settings) error {
		s.least = streak
		return nil
	}
}
