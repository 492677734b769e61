import { nearest } from '../contract/nearest.js';

/** The name that somebody meant who typed one that is not there. What it is offered for may end what has that name: in doubt none is. */
export function meantBy(name: string, there: readonly string[]): string | undefined {
  if (there.includes(name)) return undefined;
  // Names of packs and rigs have those before them, which people leave out.
  const ends = there.filter((one) => one.endsWith(`.${name}`) || one.endsWith(`/${name}`));
  if (ends.length === 1) return ends[0];
  // Another number is no slip: who types it means another one.
  const alike = there.filter((one) => digitsOf(one) === digitsOf(name));
  return slipOf(name, alike) ?? slipOf(name.toLowerCase(), alike);
}

/** A word of which half is changed is another one, unless two of its letters have changed places. */
function slipOf(word: string, words: readonly string[]): string | undefined {
  const letters = lettersOf(word);
  return (
    nearest(word, words, Math.ceil(word.length / 2)) ??
    nearest(
      word,
      words.filter((one) => lettersOf(one) === letters),
    )
  );
}

const digitsOf = (name: string): string => name.replace(/\D+/g, '');
const lettersOf = (word: string): string => [...word].sort().join('');
