// The language in which a page opens unless its address names one: that of the
// command that has made the page, or, if it has none, the browser's.
const said = () => document.querySelector('meta[name="lab-language"]')?.content || navigator.language;

export const firstLanguage = () => /^zh/i.test(said()) ? "zh" : "en";
