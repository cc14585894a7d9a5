/* N contenders queue for one lock. A request is one atomic step at the server;
   the contender learns of an event in a step of its own.
   HOW   1 naive (step 1), 2 herd (step 2), 3 predecessor (step 3).
   BUG   1 no second look after waking, 2 exists in place of get.
   GONE  sessions of contenders may end while they wait.                      */
#ifndef N
#define N 3
#endif
#ifndef BUG
#define BUG 0
#endif
#define NONE 255

byte node[N];         /* the number of a contender's node, 0: it has none */
byte next = 1;        /* the server's counter */
bool watch[N * N];    /* watch[i * N + j]: i is told when the node of j goes */
bool told[N];         /* an event has come */
byte inside, woken;

inline go(j) {        /* the node of j goes, and its watches fire: one transaction */
	node[j] = 0; k = 0;
	do :: k < N -> if :: watch[k * N + j] -> watch[k * N + j] = 0; told[k] = 1; woken++ :: else fi; k++
	   :: else -> break
	od; k = 0
}

inline list() {       /* before: the contender to watch, NONE if i is the first */
	before = NONE; k = 0;
	do :: k < N -> if :: node[k] && node[k] < node[i] && (before == NONE || node[k] > node[before]) -> before = k :: else fi;
	      if :: HOW == 2 && k != i && node[k] -> watch[i * N + k] = 1 :: else fi; k++
	   :: else -> break
	od; k = 0
}

active [N] proctype Contender() {
	byte k, before, i = _pid;
#if HOW == 1
again:	atomic {        /* create: made, or there is a node already */
		before = NONE; k = 0;
		do :: k < N -> if :: node[k] -> before = k :: else fi; k++ :: else -> break od; k = 0;
		if :: before == NONE -> node[i] = 1; goto in :: else fi };
	atomic {        /* get and watch the node, which may be another contender's by then */
		before = NONE;
		do :: k < N -> if :: node[k] -> before = k :: else fi; k++ :: else -> break od; k = 0;
		if :: before != NONE -> watch[i * N + before] = 1 :: before == NONE && BUG != 2 -> goto again :: else fi };
	atomic { told[i] -> told[i] = 0 };
	goto again;
#else
	atomic { node[i] = next; next++ };                          /* create */
	do
	:: atomic { list(); if :: before == NONE -> break :: else fi };  /* children */
#if HOW == 3
	   atomic { if :: node[before] || BUG == 2 -> watch[i * N + before] = 1 :: else -> told[i] = 1 fi }; /* get and watch */
#endif
	   if :: atomic { told[i] -> told[i] = 0 }
#ifdef GONE
	      :: atomic { go(i) }; goto end
#endif
	   fi;
#if BUG == 1
	   break
#endif
	od;
#endif
in:	inside++; assert(inside == 1); inside--;
	atomic { go(i) };                                           /* delete */
end:	skip
}
