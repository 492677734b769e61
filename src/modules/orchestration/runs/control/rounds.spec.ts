import { describe, expect, it } from '@jest/globals';
import { LIMITS, TooMuch } from '../../formulas/compile/limits.js';
import type { Fragment, RecipeStep } from '../../formulas/compile/recipe.js';
import { items, MAX_EDGES, MAX_STEPS } from './rounds.js';

const step = (more: Partial<RecipeStep> = {}): RecipeStep => ({
  ...{
    id: 'f.a.item.{index}.x',
    kind: 'task',
    type: 'task',
    title: 'X',
    description: '',
    notes: '',
    labels: [],
    metadata: {},
    assignee: '',
  },
  ...more,
});

/** Items that count the characters that are made of them. */
class Counted {
  made = 0;

  constructor(private readonly length: number) {}

  toJSON(): string {
    this.made += this.length;
    return 'x'.repeat(this.length);
  }
}

describe('items that are too long', () => {
  const refused = (body: Fragment, room: number): number => {
    const item = new Counted(75);
    expect(() =>
      items(
        body,
        Array.from({ length: 200 }, () => item),
        false,
        room,
      ),
    ).toThrow(TooMuch);
    return item.made;
  };
  const description = '{item}'.repeat(300);

  // Guard: what items grow by is measured while it grows.
  it.each([
    ['steps', step({ description })],
    ['metadata', step({ metadata: { a: description } })],
    [
      'what is repeated',
      step({
        control: { kind: 'check', max_attempts: 1, script: { file: '', sha256: '' }, body: { steps: [step({ description })], edges: [] } },
      }),
    ],
  ])('are not made to their end: %s', (_what, one) => {
    expect(refused({ steps: [one, { ...one, id: 'y' }], edges: [] }, MAX_STEPS)).toBeLessThan(LIMITS.characters * 1.1);
  });

  // Guard: how many steps items have together is looked at before they are made.
  it('are not begun when the run has no room for their steps', () => {
    expect(refused({ steps: [step({ description: '{item}' })], edges: [] }, 199)).toBe(0);
  });

  // Guard: what waits for what is counted before it is made.
  it('are not begun when too much would wait for too much', () => {
    const steps = Array.from({ length: 300 }, (_, n) => step({ id: `f.a.item.{index}.${n}` }));
    expect(() => items({ steps, edges: [] }, [1, 2], true, MAX_STEPS)).toThrow(`items with more than ${MAX_EDGES} dependencies`);
    expect(items({ steps: steps.slice(0, 200), edges: [] }, [1, 2], true, MAX_STEPS).edges).toHaveLength(40_000);
  });
});
