package sqlversion

import "example.com/zklock/docs/other-locks/database"

// On is the same stock through another pool.
func On(db *database.DB, s *Stock) *Stock { return New(db, s.id) }

// ID is the stock's key.
func ID(s *Stock) string { return s.id }
