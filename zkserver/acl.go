package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"example.com/zklock/internal/jute"
)

// An identity belongs to a connection: its address, and each digest with which it has authenticated.
type identity struct{ scheme, id string }

// digest is the identity of "user:password".
func digest(userPassword string) string {
	user, _, _ := strings.Cut(userPassword, ":")
	sum := sha1.Sum([]byte(userPassword))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// authenticate adds the identity that the packet proves. It returns false if the
// scheme is unknown, or the packet proves nothing.
func (c *conn) authenticate(p *jute.AuthPacket) bool {
	switch p.Scheme {
	case "digest":
		if p.Auth == nil {
			return false
		}
		proved := identity{scheme: "digest", id: digest(string(p.Auth))}
		if !slices.Contains(c.identities, proved) {
			c.identities = append(c.identities, proved)
		}
		return true
	case "ip":
		return true // every connection has its address already
	}
	return false
}

// resolveACL returns the list that a node gets when c asks for acl: without duplicates, and "auth"
// replaced by the identities of c. It returns false for a list that is not valid.
func (c *conn) resolveACL(acl []jute.ACL) ([]jute.ACL, bool) {
	var out []jute.ACL
	add := func(a jute.ACL) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range acl {
		switch {
		case a.Scheme == "world" && a.ID == "anyone":
			add(a)
		case a.Scheme == "auth":
			known := false
			for _, own := range c.identities {
				if own.scheme == "digest" {
					add(jute.ACL{Perms: a.Perms, Scheme: own.scheme, ID: own.id})
					known = true
				}
			}
			if !known {
				return nil, false
			}
		case a.Scheme == "digest" && validDigest(a.ID):
			add(a)
		case a.Scheme == "ip" && parseNetwork(a.ID).IsValid():
			add(a)
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// may reports whether acl gives c any of the permissions perms.
func (c *conn) may(perms int32, acl []jute.ACL) bool {
	for _, a := range acl {
		if a.Perms&perms == 0 {
			continue
		}
		if a.Scheme == "world" {
			return true
		}
		for _, own := range c.identities {
			if own.scheme != a.Scheme {
				continue
			}
			address, _ := netip.ParseAddr(own.id) // of a digest not valid, and so in no network
			if own.id == a.ID || parseNetwork(a.ID).Contains(address) {
				return true
			}
		}
	}
	return false
}

// maskDigests hides the password hashes from a client that may not administer the node.
func maskDigests(acl []jute.ACL) []jute.ACL {
	out := slices.Clone(acl)
	for i, a := range out {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			out[i].ID = user + ":x"
		}
	}
	return out
}

// validDigest reports whether an id is "user:hash". As in Java's split, colons at the end do not count.
func validDigest(id string) bool { return strings.Count(strings.TrimRight(id, ":"), ":") == 1 }

// parseNetwork reads "address" or "address/bits". Of anything else it makes a network that is not valid, and
// contains no address.
func parseNetwork(s string) (network netip.Prefix) {
	host, bits, slash := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is4() {
		return network // the real server supports IPv4 alone
	}
	n := addr.BitLen()
	if slash {
		if n, err = strconv.Atoi(bits); err != nil {
			return network
		}
	}
	network, _ = addr.Prefix(n)
	return network
}
