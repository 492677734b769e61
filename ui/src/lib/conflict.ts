import type { Bead } from '../api/types.js';

/** A part of a bead that is another one than it was. */
export interface Changed {
  readonly name: string;
  readonly theirs: string;
  /** What would take its place; undefined where theirs stays. */
  readonly mine: string | undefined;
}

/** Parts of a bead as they are read; those that a form has can be another one there as well. */
const PARTS: readonly (readonly [string, (bead: Partial<Bead>) => string])[] = [
  ['Title', ({ title = '' }) => title],
  ['Description', ({ description = '' }) => description],
  ['Type', ({ issue_type: type = '' }) => type],
  ['Priority', ({ priority }) => (priority === undefined ? '' : `P${priority}`)],
  ['Labels', ({ labels }) => [...(labels ?? [])].sort().join(', ')],
  ['State', ({ status = '' }) => status],
  ['Assignee', ({ assignee = '' }) => assignee],
  ['Parent', ({ parent = '' }) => parent],
];

/** What others have changed of a bead since it was `base`, and what is wanted in its place. */
export function changedBy(base: Bead, theirs: Bead, mine: Partial<Bead>): readonly Changed[] {
  const wanted = { ...base, ...mine };
  return PARTS.flatMap(([name, of]) => {
    if (of(theirs) === of(base)) return [];
    return [{ name, theirs: of(theirs), mine: of(wanted) === of(base) || of(wanted) === of(theirs) ? undefined : of(wanted) }];
  });
}
