import TestSequencer from '@jest/test-sequencer';

/**
 * Files that take longest begin first, so that none of them is left alone at the end. Jest knows how long files took the last
 * time; in a new clone these are taken for the longest.
 */
const LONGEST = [
  'embedded',
  'rig-clones',
  'front-door',
  'operations',
  'contract',
  'authorization',
  'docs',
  'cities',
  'streams',
  'session-tokens',
].map((name) => `/${name}.e2e-spec.ts`);

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const rank = ({ path }) => {
      const place = LONGEST.findIndex((end) => path.endsWith(end));
      return place === -1 ? LONGEST.length : place;
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
}
