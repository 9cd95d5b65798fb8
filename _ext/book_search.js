/* The page of results: MiniSearch ranks the places of the book that stand above, in `bookPlaces`.
   A word counts by how rare it is and where it stands; neighbouring words count once more, so
   that a pasted error message finds its entry whatever its numbers, shapes and names. A word that
   no page has may be mistyped, or not yet whole. Of a text in Chinese, which parts no words, each
   two neighbouring characters are one. Answers and solutions are found, not shown; what stands
   between ‹ and ›, such as a formula, is shown, not found. A page that is there in Chinese, below `zh/`, is shown to who
   reads or asks in Chinese, in place of the English one; of others, Chinese has the titles. */
(() => {
  const PASSING = new Set(("a an and are as at be but by can do does for from has have how i if in into is it its me"
    + " my of on or so that the then there these they this to was what when where which who why will with work works would you"
    + " your").split(" "));
  const SAME = {example: "sample", examples: "sample"};
  const SAID = [[/per[- ](sample|example) gradients?/gi, "$& row"], [/temporal[- ]difference/gi, "$& td"]];
  const WEIGHTS = {title: 4, about: 4, heading: 4, words: 1, folded: 1, code: 0.3};
  const LOOKED_UP = 0.5, PAGE = 1.5, NEXT = 0.5, PAIR = 2;  // a page's next place counts less than its first
  const stemmer = new Stemmer();
  const stems = new Map();
  const stem = (word) => {
    if (!stems.has(word)) stems.set(word, /^[a-z]+$/.test(word) ? stemmer.stemWord(SAME[word] ?? word) : word);
    return stems.get(word);
  };
  const UNFOUND = /‹[^›]*›/g;
  const HAN = /\p{Script=Han}/u;
  const RUN = /(\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+)/u;
  const RUNS = new RegExp(RUN, "gu");
  const twos = (run) => HAN.test(run) && run[1] ? [...run].slice(1).map((c, i) => run[i] + c) : [run];
  const split = (text) => {
    const runs = text.toLowerCase().replace(/[’']/g, "").match(RUNS) ?? [];
    return HAN.test(text) ? runs.flatMap(twos) : runs;
  };
  // A name of two words, such as BatchNorm, weight_norm or DataLoader, is the two words, and the other way round.
  const parts = new Map();
  const isPart = (part) => part?.length > 2 && /^[a-z]+$/.test(part) && part !== "per" && !PASSING.has(part);
  const wordsOf = (runs) => runs.filter((word) => !PASSING.has(word)).flatMap((word, i, all) => {
    const name = parts.has(word.replace("_", "")) ? word.replace("_", "") : word;
    const two = parts.get(name) ?? name.split("_").filter(Boolean);
    const whole = `${word}${all[i + 1]}`;
    return [name, ...two[0] === name ? [] : two, ...parts.has(whole) ? [whole] : []];
  }).map(stem);
  const pairsOf = (runs) => new Set(runs.flatMap((word) => parts.get(word.replace("_", "")) ?? [word]).map(stem)
    .map((word, i, all) => `${all[i - 1]} ${word}`).slice(1));
  const [words, pairs] = [wordsOf, pairsOf].map((of) => (text) => of(split(text)));
  // Each text is parted once: a page's words are those of its places.
  const FIELDS = Object.keys(WEIGHTS);
  const INSIDE = ["heading", "words", "folded"];
  const entries = new Map(bookPlaces.map((entry) => [entry.place, {...entry, inside: []}]));
  for (const entry of entries.values()) {
    entry.runs = Object.fromEntries(FIELDS.map((field) => [field, split((entry[field] ?? "").replace(UNFOUND, "…"))]));
    if (!entry.title) entries.get(entry.place.split("#")[0]).inside.push(entry);
  }
  const runsOf = ({inside, runs}, field) => inside.length && INSIDE.includes(field) ? inside.flatMap((one) => one.runs[field]) : runs[field];
  const index = new MiniSearch({
    idField: "place",
    fields: FIELDS,
    extractField: (entry, field) => (field === "place" ? entry.place : runsOf(entry, field)),
    stringifyField: (runs) => runs,
    tokenize: wordsOf,
    processTerm: (term) => term,
  });
  const pageOf = (place) => place.split("#")[0].replace("zh/../", "");
  const inChinese = new Set(bookPlaces.map(({place}) => pageOf(place)).filter((page) => page.startsWith("zh/")));
  const isChinese = (asked) => document.documentElement.lang.startsWith("zh") || HAN.test(asked);
  const isShown = (place, chinese) => place.startsWith("zh/") === chinese || chinese && !inChinese.has(`zh/${pageOf(place)}`);
  // A word that no page has stands for those that begin with it, or else for those that differ
  // from it in one letter, or in two that changed places.
  const vocabulary = new Set([...entries.values()].flatMap(({runs}) => Object.values(runs).flat()));
  for (const entry of entries.values()) for (const field of entry.title ? [] : FIELDS) {
    for (const [whole] of (entry[field] ?? "").matchAll(/[A-Z][A-Za-z]+|[a-z]+_[a-z]+/g)) {
      const two = whole.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g).map((part) => part.toLowerCase());
      if (two.length === 2 && two.every(isPart)) parts.set(two.join(""), two);
    }
    entry.runs[field].forEach((word, i, all) => {
      const two = [word, all[i + 1]];
      if (vocabulary.has(two.join("")) && two.every(isPart)) parts.set(two.join(""), two);
    });
  }
  const isTypo = (a, b) => {
    let i = 0, j = 0;
    while (i < a.length && a[i] === b[i]) i++;
    while (j < Math.min(a.length, b.length) - i && a.at(-1 - j) === b.at(-1 - j)) j++;
    const [x, y] = [a.slice(i, a.length - j), b.slice(i, b.length - j)];
    return x.length < 2 && y.length < 2 || x.length === 2 && x[1] + x[0] === y;
  };
  const meant = (word) => {
    if (vocabulary.has(word) || parts.has(word) || word.length < 4) return [word];
    // A name of a program is meant by its beginning, "per_s", and not by its first word.
    const begun = [...vocabulary].filter((other) => other.startsWith(word) && other.includes("_") === word.includes("_")).slice(0, 9);
    return begun.length ? begun : [...vocabulary].filter((other) => isTypo(word, other));
  };
  // Of a few words with a mistyped one, places that have two thirds of them answer, if there are any.
  const enough = (found, asked) => {
    const typed = split(asked).filter((word) => !PASSING.has(word));
    const groups = typed.map((word) => meant(word).map(stem)).filter(({length}) => length);
    const mended = typed.some((word) => !vocabulary.has(word) && word.length > 3 && meant(word).length);
    if (!mended || groups.length < 2 || typed.length > 5) return found;
    const has = ({terms}) => groups.filter((group) => group.some((word) => terms.includes(word))).length >= groups.length * 2 / 3;
    const kept = found.filter(has);
    return kept.length ? kept : found;
  };
  // What a place's score is with the neighbouring words that it shares with what is asked: each by how rare it is,
  // and more in a short place, as MiniSearch counts a word (BM25+, times how many of the words are there).
  const nearIn = (asked) => {
    const here = [...entries.values()].filter(({title}) => !title);
    for (const entry of here) entry.pairs ??= pairsOf(INSIDE.flatMap((field) => entry.runs[field]));
    const shared = new Map(here.map(({place}) => [place, []]));
    const length = here.reduce((sum, entry) => sum + entry.pairs.size, 0) / here.length;
    const weigh = (entry) => PAIR * (0.5 + 2.2 / (1 + 1.2 * (0.3 + 0.7 * entry.pairs.size / length)));
    for (const pair of pairs(asked)) {
      const has = here.filter((entry) => entry.pairs.has(pair));
      for (const entry of has) shared.get(entry.place).push(weigh(entry) * Math.log((here.length + 1) / (has.length + 0.5)));
    }
    return ({id, score, queryTerms: {length: known}}, worth) => {
      const all = shared.get(id) ?? [];
      return {near: all.length, score: (score / known + worth * all.reduce((a, b) => a + b, 0)) * (known + all.length)};
    };
  };
  // The pages that answer, the best first: each with its places, the best first, exercises last.
  // Who asks for a term sees what it means first, then the page that explains it (chapters/pages.toml).
  const isExercise = (place) => place.endsWith("#exercises");
  const rank = ({id, heading, explains}, asked) => {
    const is = (term) => `${words(term)}` === `${asked}`;
    return id.includes("glossary.html#") && is(heading) ? 2 : explains?.split(",").some(is) ? 1 : 0;
  };
  const find = (asked) => {
    const query = SAID.reduce((text, [long, added]) => text.replace(long, added), asked);
    const chinese = isChinese(asked);
    const completed = (text) => words(split(text).flatMap(meant).join(" "));
    const terms = [...new Set(completed(asked))];
    const exercises = /exercise|练习/i.test(asked) ? 1 : LOOKED_UP;
    const worth = (place) => !isShown(place, chinese) ? 0 : isExercise(place) ? exercises
      : /chapters|errors/.test(place) ? 1 : LOOKED_UP;
    const near = nearIn(query);
    const found = index.search(query, {boost: WEIGHTS, tokenize: completed, boostDocument: worth})
      .map((one) => ({...entries.get(one.id), ...one, ...near(one, worth(one.id))}));
    const pages = new Map(bookPlaces.filter(({place, title}) => title && isShown(place, chinese)).map(({place, title}) =>
      [pageOf(place), {title, score: 0, rank: 0, places: []}]));
    const last = exercises < 1 ? ({id}) => isExercise(id) : () => false;
    for (const place of found) place.rank = rank(place, terms);
    for (const place of enough(found, query).sort((a, b) => b.rank - a.rank || last(a) - last(b) || b.score - a.score)) {
      const page = pages.get(pageOf(place.id));
      page.score += place.title ? PAGE * place.score : place.score * NEXT ** page.places.length;
      page.rank = Math.max(page.rank, place.rank);
      if (!place.title) page.places.push(place);
      else page.itself = {...place, heading: page.title, words: place.shown};
    }
    for (const page of pages.values()) if (page.itself && !page.places.length) page.places.push(page.itself);
    return [...pages.values()].filter(({places}) => places.length).sort((a, b) => b.rank - a.rank || b.score - a.score);
  };

  // Shows the pages that answer, in a list: each with its best places, what they say, and the words found.
  const made = (tag, inside, rest = {}) => {
    const element = Object.assign(document.createElement(tag), rest);
    element.append(...[inside].flat());
    return element;
  };
  const isMarked = (part, terms) => {
    const [name, ...two] = words(part); // of a name of two words, itself or both
    return !/^(no|not|one|only|out)$/i.test(part) && (terms.includes(name) || two.length > 0 && two.every((word) => terms.includes(word)));
  };
  const marked = (text, terms) => text.split(RUN).flatMap((part) => {
    // Of a longer name, such as clipped_sum, what was asked for.
    if (!HAN.test(part)) return (terms.includes(part.toLowerCase()) ? [part] : part.split(/(_)/)).map((one) =>
      isMarked(one, terms) ? made("mark", one) : one);
    const isFound = (i) => terms.includes(part.slice(i - 1, i + 1)) || terms.includes(part.slice(i, i + 2));
    return [...part].map((c, i) => isFound(i) ? made("mark", c) : c);
  });
  // About as much of a text as fits two lines, from the sentence on that has most of the words.
  const excerpt = (text, terms) => {
    const sentences = text.replace(/[‹›]/g, "").split(/(?<=[.?!:]) |(?<=[。？！])/);
    const most = HAN.test(text) ? 90 : 200;
    const known = sentences.map((one) => words(one).filter((word) => terms.includes(word)).length - (one.includes("…") ? 0.5 : 0));
    const said = sentences.slice(Math.max(0, known.indexOf(Math.max(...known)))).join(" ");
    return said.length > most ? `${said.slice(0, most).replace(/ [^ \p{Script=Han}]*$/u, "")} …` : said;
  };
  const FOR_IT = 0.5;  // of the best entry's score, for another one to be shown
  // An entry for a message has at least two neighbouring pairs of its words, or all of one or two words.
  const isFor = (asked, {near}) => near >= Math.min(2, pairs(asked).size);
  window.bookShow = (asked, results, most = 12, within = "") => {
    const pages = asked.trim() ? find(asked).filter(({places: [best]}) =>
      !within || best.id.startsWith(within) && isFor(asked, best)).slice(0, most) : [];
    const chinese = isChinese(asked);
    results.replaceChildren(made("ol", pages.map(({title: page, places}) => made("li", places.filter(({heading, score}, i) => !i || heading !== page && (!within || score > FOR_IT * places[0].score)).slice(0, within ? 5 : 3).map((place, i) => {
      const [before, after] = place.heading === page || within ? ["", ""] : say`${page}: ${"\n"}`.split("\n");
      const heading = within ? [place.heading] : marked(place.heading, place.terms);
      const title = i ? [made("span", before), ...heading, after] : [...marked(before, place.terms), ...heading, after];
      if (!i && chinese && !inChinese.has(pageOf(place.id))) title.push("（英文）");
      const link = made("a", title, {href: document.documentElement.dataset.content_root + place.id});
      return made("p", i ? link : [link, made("br", []), ...marked(excerpt(place.words, place.terms), place.terms)]);
    }))), {className: "search"}));
    if (asked.trim() && !pages.length) results.replaceChildren(within
      ? say`No match: this page has no entry for it. Try a few words from the middle of the message, without names and numbers, or the search.`
      : say`No page has any of these words.`);
  };
  // The pages are added a few at a time, so that one can go on typing.
  window.bookReady = index.addAllAsync([...entries.values()], {chunkSize: 20}).then(() => { window.bookFind = find; });
  const results = document.getElementById("search-results");
  const input = results && document.querySelector(".bd-article-container .bd-search input, main .bd-search input");
  if (!input) return;
  input.value = new URLSearchParams(location.search).get("q") ?? "";
  if (input.value) results.textContent = say`Searching …`;
  const show = () => window.bookReady.then(() => window.bookShow(input.value, results));
  input.addEventListener("input", show);
  show();
})();
