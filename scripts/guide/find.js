/** How the guide is searched: in the browser over the index that the build has made, and by the build itself. */
const WORD = /[^\p{L}\p{N}_.-]+/u;
const SHOWN = 12;

/** Words as they stand, and their parts: `session_circuit_breaker` is found by each. */
function words(text) {
  return text
    .split(WORD)
    .map((word) => word.replace(/^[.-]+|[.-]+$/g, ''))
    .filter((word) => word !== '')
    .flatMap((word) => (/[_.-]/.test(word) ? [word, ...word.split(/[_.-]+/).filter((part) => part !== '')] : [word]));
}

export const OPTIONS = {
  fields: ['title', 'where', 'text'],
  storeFields: ['title', 'where', 'url', 'text'],
  tokenize: words,
  processTerm: (term) => term.toLowerCase(),
};

/** The best entries for a query; one that is called as it says comes first. */
export function find(index, query) {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return [];
  const found = index.search(query, {
    boost: { title: 6, where: 2 },
    combineWith: 'AND',
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 5 ? 0.15 : false),
    boostDocument: (_id, _term, { title }) => (title.toLowerCase() === wanted ? 50 : 1),
  });
  return found.slice(0, SHOWN);
}
