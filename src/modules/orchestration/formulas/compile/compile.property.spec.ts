import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'smol-toml';
import { DEEP } from '../../../../../test/support/depth.js';
import { compile } from './compile.js';
import { libraryOf } from './testing/case.js';
import type { Fragment } from './recipe.js';

type Doc = Record<string, unknown>;

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', '{target}.x', 'a.iter1.b', '');
const name = fc.constantFrom('f', 'g', 'h', 'nobody');
const word = fc.constantFrom(
  ...[
    'x',
    '',
    '{{v}}',
    '{{w}}',
    '{i}',
    '{target.title}',
    '{item.x}',
    '1..{v}',
    '2^9^9',
    '{{convoy_id}}',
    '90s',
    '-1s',
    '*',
    'children-of(a)',
    'all-children',
  ],
  ...[
    "step.status == 'failed'",
    'output.x',
    '(a+)+$',
    'steps.complete > 1',
    "{{v}} == 'x'",
    '!{{v}}',
    'exec',
    'soft_fail',
    '>=2.0.0',
    '../a.md',
    '__proto__',
    'constructor',
  ],
);
const few = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 4 });
const some = (shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Doc> =>
  fc.record(shape, { requiredKeys: [] }) as fc.Arbitrary<Doc>;
const record = fc.dictionary(fc.constantFrom('v', 'w', 'gc.kind', 'gc.scope_ref', 'constructor'), word, {
  maxKeys: 3,
  noNullPrototype: true,
});

const { step } = fc.letrec<{ step: Doc }>((tie) => ({
  step: some({
    ...{ id, title: word, description: word, description_file: word, condition: word, assignee: word, expand: name, expand_vars: record },
    ...{
      needs: few(id),
      depends_on: few(id),
      waits_for: word,
      metadata: record,
      tags: few(word),
      timeout: word,
      priority: fc.integer({ min: -1, max: 5 }),
    },
    ...{ gate: some({ type: fc.constantFrom('timer', 'human', 'moon'), id: word, timeout: word }) },
    ...{ retry: some({ max_attempts: fc.integer({ min: 0, max: 3 }), on_exhausted: word }) },
    ...{ check: some({ max_attempts: fc.integer({ min: 0, max: 3 }), check: some({ mode: word, path: word, timeout: word }) }) },
    ...{ on_complete: some({ for_each: word, bond: name, vars: record, parallel: fc.boolean() }), drain: some({ formula: name }) },
    children: fc.oneof({ maxDepth: 2 }, few(tie('step')), fc.constant([])),
    loop: some({
      count: fc.integer({ min: -1, max: 3 }),
      range: word,
      until: word,
      max: fc.integer({ min: 0, max: 3 }),
      var: fc.constant('i'),
      body: few(tie('step')),
    }),
  }),
}));

const splice = some({ target: id, select: word, with: name, vars: record });
const formula = some({
  ...{
    type: fc.constantFrom('workflow', 'expansion', 'aspect'),
    description: word,
    extends: few(name),
    phase: fc.constantFrom('vapor', 'liquid'),
  },
  requires: some({ formula_compiler: fc.constantFrom('>=2.0.0', 'x', '<2') }),
  vars: fc.dictionary(
    fc.constantFrom('v', 'w', 'title', 'convoy_id'),
    fc.oneof(word, some({ default: word, required: fc.boolean(), pattern: word, enum: few(word), type: fc.constantFrom('int', 'bool') })),
    { maxKeys: 3, noNullPrototype: true },
  ),
  ...{ steps: few(step), template: few(step) },
  advice: few(some({ target: word, before: some({ id, title: word }), after: some({ id }) })),
  compose: some({
    ...{ expand: few(splice), map: few(splice), aspects: few(name), branch: few(some({ from: id, steps: few(id), join: id })) },
    ...{
      gate: few(some({ before: id, condition: word })),
      bond_points: few(some({ id, after_step: id, before_step: id, parallel: fc.boolean() })),
    },
  }),
  unknown: word,
});

const options = { vars: {}, injected: {}, strict: false, compiler: '2.0.0' } as const;

/** Formulas that may well be right: their steps wait for earlier ones. */
const plausible = fc.array(
  fc.record({
    needs: few(fc.nat(5)),
    kind: fc.constantFrom('plain', 'loop', 'until', 'expand', 'gate', 'retry', 'fan', 'parent', 'condition'),
    words: fc.constantFrom('Do {{v}}', 'Do {{convoy_id}}', 'Do it', '{{w}}{{v}}'),
  }),
  { minLength: 1, maxLength: 6 },
);

const KINDS: Readonly<Record<string, Doc>> = {
  plain: {},
  loop: {
    loop: {
      range: '1..{v}',
      var: 'i',
      body: [
        { id: 'one', title: 'One {i}' },
        { id: 'two', title: 'Two', needs: ['one'] },
      ],
    },
  },
  until: { loop: { until: 'steps.complete > 1', max: 2, body: [{ id: 'three', title: 'Three' }] } },
  expand: { expand: 'h' },
  gate: { gate: { type: 'timer', timeout: '5m' } },
  retry: { retry: { max_attempts: 2 } },
  fan: { on_complete: { for_each: 'output.x', bond: 'h' } },
  parent: { children: [{ id: 'four', title: 'Four', needs: [] }] },
  condition: { condition: "{{v}} == '3'" },
};

function written(steps: readonly { needs: number[]; kind: string; words: string }[]): Record<string, string> {
  const renamed = (value: unknown, n: number): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll(/"(one|two|three|four)"/g, `"$1${n}"`)) as unknown;
  const made = steps.map(({ needs, kind, words }, n) => ({
    id: `s${n}`,
    title: words,
    needs: needs.filter((need) => need < n).map((need) => `s${need}`),
    ...(renamed(KINDS[kind], n) as Doc),
  }));
  return {
    'formulas/f.toml': stringify({
      formula: 'f',
      requires: { formula_compiler: '>=2.0.0' },
      vars: { v: '2', w: { required: true } },
      steps: made,
    }),
    'formulas/h.toml': stringify({
      formula: 'h',
      type: 'expansion',
      template: [
        { id: '{target}.p', title: '{target.title}!' },
        { id: '{target}.q', title: 'q {{v}}', needs: ['{target}.p'] },
      ],
    }),
  };
}

describe('formulas', () => {
  it('become recipes that are whole', () => {
    let recipes = 0;
    fc.assert(
      fc.property(plausible, fc.boolean(), (steps, given) => {
        const { recipe, issues } = compile('f', libraryOf(written(steps)), { ...options, vars: given ? { w: '{ w }' } : {} });
        expect(issues).toEqual([]);
        checkWhole(recipe!, new Set([...recipe!.at_run, ...recipe!.missing]));
        recipes++;
      }),
      { numRuns: 60 },
    );
    expect(recipes).toBeGreaterThan(30);
  });

  it('that say anything end in issues or a recipe, the same each time', () => {
    const files = fc.record({ f: formula, g: formula, h: formula });
    fc.assert(
      fc.property(files, record, (documents, vars) => {
        const texts = Object.fromEntries(
          Object.entries(documents).map(([key, document]) => [`formulas/${key}.toml`, stringify({ formula: key, ...document })]),
        );
        const result = compile('f', libraryOf({ ...texts, 'a.md': 'A' }), { ...options, vars });
        expect(compile('f', libraryOf({ ...texts, 'a.md': 'A' }), { ...options, vars })).toEqual(result);
        expect(result.recipe === undefined).toBe(result.issues.length > 0);
        for (const { file, message } of result.issues) expect([file, message]).not.toContain('');
      }),
      { numRuns: DEEP ? 2_000 : 12 },
    );
  });
});

/** Ids once, edges between steps that are there, order kept, placeholders declared. */
function checkWhole(fragment: Fragment, known: ReadonlySet<string>): void {
  const place = new Map(fragment.steps.map((step, n) => [step.id, n]));
  expect(place.size).toBe(fragment.steps.length);
  for (const { from, to } of fragment.edges) expect(place.get(from)!).toBeLessThan(place.get(to)!);
  for (const { title, description, control } of fragment.steps) {
    for (const [, placeholder] of `${title} ${description}`.matchAll(/\{\{(\w+)\}\}/g)) expect(known).toContain(placeholder);
    if (control !== undefined && 'body' in control && control.body !== undefined)
      checkWhole({ ...control.body, steps: control.body.steps }, known);
  }
}

describe('the order of a file', () => {
  it('means nothing: steps and who waits for whom are the same', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'g'];
    const steps = fc.array(fc.subarray(ids), { minLength: ids.length, maxLength: ids.length }).map((needs) =>
      ids.map((each, n) => ({
        id: each,
        title: each,
        // Only of steps before it, so that there is no circle.
        needs: needs[n]!.filter((need) => ids.indexOf(need) < n),
        ...(n === 2 ? { condition: '{{v}}' } : {}),
        ...(n === 3 ? { loop: { count: 2, body: [{ id: 'x', title: 'x' }] } } : {}),
        ...(n === 4 ? { expand: 'h' } : {}),
      })),
    );
    const shape = (written: readonly Doc[]): unknown => {
      const files = {
        'formulas/f.toml': stringify({
          formula: 'f',
          vars: { v: '' },
          steps: written.map((each) => ('expand' in each ? { id: each.id, needs: each.needs, expand: 'h' } : each)),
        }),
        'formulas/h.toml': stringify({
          formula: 'h',
          type: 'expansion',
          template: [
            { id: '{target}.p', title: 'p' },
            { id: '{target}.q', title: 'q' },
          ],
        }),
      };
      const { recipe, issues } = compile('f', libraryOf(files), options);
      expect(issues).toEqual([]);
      return {
        steps: recipe!.steps.map((each) => each.id).sort(),
        edges: recipe!.edges.map(({ from, to, kind }) => `${from} ${kind} ${to}`).sort(),
      };
    };
    fc.assert(
      fc.property(steps, fc.infiniteStream(fc.nat()), (written, numbers) => {
        const shuffled = written.map((each) => ({ each, at: numbers.next().value! })).sort((a, b) => a.at - b.at);
        expect(shape(shuffled.map(({ each }) => each))).toEqual(shape(written));
      }),
      { numRuns: 40 },
    );
  });
});
