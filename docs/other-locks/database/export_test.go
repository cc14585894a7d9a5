package database

// ConnectTimeout is how long a server may take to answer at first.
var ConnectTimeout = &connectTimeout
