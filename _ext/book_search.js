/* The page of search results: a pasted error message finds its entry of the error index, whatever
   its numbers, shapes and names. `bookMessages`, written above at build time, has for each entry its
   place, its title and the wordings it is known by. */
(() => {
  const words = (text) => text.toLowerCase().replace(/[’']/g, "").match(/[a-z_]{2,}/g) ?? [];
  const pairs = (list) => list.slice(1).map((word, i) => `${list[i]} ${word}`);
  const known = bookMessages.flatMap(({place, title, wordings}) =>
    wordings.map((wording) => ({place, title, words: words(wording)})));
  const count = new Map();
  for (const entry of known)
    for (const word of new Set(entry.words)) count.set(word, (count.get(word) ?? 0) + 1);
  const weight = (word) => Math.log(1 + known.length / (count.get(word) ?? known.length));
  const share = (wanted, given, worth) => {
    const all = [...new Set(wanted)];
    const sum = (list) => list.reduce((total, item) => total + worth(item), 0);
    return all.length ? sum(all.filter((item) => given.has(item))) / sum(all) : 0;
  };
  // How well two wordings agree, by their words and by neighbouring words, from 0 to 1.
  const agree = (wanted, given) =>
    (share(wanted, new Set(given), weight)
      + share(pairs(wanted), new Set(pairs(given)), () => 1)) / 2;

  // An entry fits if the pasted text contains it, or if it contains the few words that were typed.
  window.bookFind = (query) => {
    const pasted = words(query);
    if (pasted.length < 3) return [];
    const best = new Map();
    for (const entry of known) {
      if (!entry.words.length) continue;
      const length = Math.min(1, entry.words.length / 4);
      const score = Math.max(
        agree(entry.words, pasted) * (0.8 + 0.2 * length),
        pasted.length < 60 ? 0.9 * agree(pasted, entry.words) : 0);
      const old = best.get(entry.place);
      if (score >= 0.6 && !(old?.score >= score)) best.set(entry.place, {...entry, score});
    }
    return [...best.values()].sort((a, b) => b.score - a.score).slice(0, 3);
  };

  // Sphinx's index keeps a word whose stem is a stop word, as "being" for "be"; so must a query.
  const Plain = Stemmer;
  Stemmer = function () {
    const plain = new Plain();
    this.stemWord = (word) => {
      const stem = plain.stemWord(word);
      return stopwords.includes(stem) ? word : stem;
    };
  };

  const query = new URLSearchParams(location.search).get("q") ?? "";
  const root = document.documentElement.dataset.content_root;
  const show = () => {
    const results = document.getElementById("search-results");
    const found = window.bookFind(query);
    if (found.length) {
      const box = document.createElement("section");
      box.className = "book-messages";
      box.append(Object.assign(document.createElement("h2"), {textContent: "In the error index"}));
      const list = box.appendChild(document.createElement("ul"));
      for (const {place, title} of found) {
        const link = Object.assign(document.createElement("a"), {href: root + place});
        link.textContent = title;
        list.appendChild(document.createElement("li")).append(link);
      }
      results.prepend(box);
    }
  };
  if (document.readyState === "complete") show();
  else document.addEventListener("DOMContentLoaded", show);
})();
