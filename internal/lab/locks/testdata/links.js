// TestThePageWritesTheSameAddresses asks how the page reads addresses and writes them again.
import { parseLink, formatLink } from "./link.js";
const answer = asked.map(hash => {
	try {
		const { scene, extra } = parseLink(hash);
		if (extra.t !== undefined) extra.t = extra.t / 1e9 + "s"; // parseLink has nanoseconds, formatLink takes a text
		return formatLink(scene, extra);
	} catch { return "error"; }
});
