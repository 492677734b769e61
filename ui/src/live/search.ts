import { useEffect, useState } from 'react';
import { get } from '../api/client.js';
import type { Schemas } from '../api/types.js';

export type Hit = Schemas['SearchHit'];

/** Asked once somebody stops typing for a moment. */
const TYPING_MS = 120;
const MOST = 20;

const fits = ({ id, title, name = '' }: Hit, words: string): boolean =>
  [id, title, name].some((text) => text.toLowerCase().includes(words));

/** What all visible cities have of these words: ids, names, titles and subjects. */
export function useHits(words: string): { readonly hits: readonly Hit[]; readonly asking: boolean; readonly partial: boolean } {
  const [found, setFound] = useState<{ words: string; hits: readonly Hit[]; partial: boolean }>({ words: '', hits: [], partial: false });
  useEffect(() => {
    if (words === '') return setFound({ words, hits: [], partial: false });
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get<Schemas['SearchOutputBody']>('/v0/search', { query: { q: words.slice(0, 200), limit: MOST }, signal: stop.signal })
        .then(({ items, partial }) => setFound({ words, hits: items, partial: partial === true }))
        .catch(() => stop.signal.aborted || setFound({ words, hits: [], partial: true }));
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [words]);
  const asking = found.words !== words;
  // What was found for other words is not offered for these, unless it fits.
  const hits = asking ? found.hits.filter((hit) => fits(hit, words.toLowerCase())) : found.hits;
  return { hits, asking, partial: found.partial };
}
