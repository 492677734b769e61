import { describe, expect, it } from '@jest/globals';
import { describe as whole } from './describe.js';
import { MERGE } from './extends.js';
import type { Formula } from './formula.js';
import { libraryOf } from './testing/case.js';

/** A formula `f` with parents `p` and `q`, in this order, of these texts. */
function merged(f: string, p = '', q = ''): Formula {
  const file = (name: string, text: string): [string, string] => [`formulas/${name}.toml`, `formula = "${name}"\n${text}`];
  const files = Object.fromEntries([file('f', `extends = ["p", "q"]\n${f}`), file('p', p), file('q', q)]);
  const { formula, issues } = whole('f', libraryOf(files));
  expect(issues).toEqual([]);
  return formula!;
}

const step = (id: string, title: string, more = ''): string => `[[steps]]\nid = "${id}"\ntitle = "${title}"\n${more}`;
const titles = (formula: Formula): string[] => formula.steps.map(({ id, title }) => `${id} ${title}`);
const advice = (target: string): string => `[[advice]]\ntarget = "${target}"\nbefore = { id = "x" }\n`;

/** What becomes of each key; a key without a line here has no rule. */
const RULES: { readonly [K in keyof Required<Formula>]: () => void } = {
  source: () => expect(merged('').source.file).toBe('formulas/f.toml'),
  name: () => expect(merged('').name).toBe('f'),
  type: () => expect(merged('').type).toBe('workflow'),
  extends: () => expect(merged('').extends.map(({ name }) => name)).toEqual(['p', 'q']),
  description: () => {
    expect(merged('description = "own"', 'description = "p"').description).toBe('own');
    expect(merged('', '', 'description = "q"').description).toBe('q');
    expect(merged('', 'description = "p"', 'description = "q"').description).toBe('p');
  },
  compilers: () => {
    const of = (range: string): string => `[requires]\nformula_compiler = "${range}"\n`;
    expect(merged(of('>=1'), of('>=2.0.0'), 'contract = "graph.v2"').compilers.map(({ range }) => range)).toEqual([
      '>=2.0.0',
      '>=2.0.0',
      '>=1',
    ]);
  },
  vars: () => {
    const { vars } = merged('[vars]\na = "f"', '[vars]\na = "p"\nb = "p"', '[vars]\nb = "q"\nc = "q"');
    expect([...vars.values()].map(({ name, default: value }) => `${name} ${value}`).sort()).toEqual(['a f', 'b p', 'c q']);
  },
  steps: () => {
    expect(titles(merged(step('b', 'own') + step('d', 'own'), step('a', 'p') + step('b', 'p'), step('a', 'q') + step('c', 'q')))).toEqual([
      ...['a q', 'b own', 'c q', 'd own'],
    ]);
    const nested = merged(step('inner', 'own'), step('a', 'p', '[[steps.children]]\nid = "inner"\ntitle = "p"\n'));
    expect([titles(nested), nested.steps[0]!.children.map(({ title }) => title)]).toEqual([['a p'], ['own']]);
  },
  template: () => {
    const of = (id: string, title: string): string => `type = "expansion"\n[[template]]\nid = "{target}.${id}"\ntitle = "${title}"\n`;
    expect(merged(of('a', 'own'), of('a', 'p'), of('b', 'q')).template.map(({ id, title }) => `${id} ${title}`)).toEqual([
      '{target}.a own',
      '{target}.b q',
    ]);
  },
  compose: () => {
    const of = (name: string): string =>
      `[compose]\nexpand = [{ target = "${name}", with = "e" }]\nmap = [{ select = "${name}", with = "e" }]\naspects = ["both", "${name}"]\n` +
      `branch = [{ from = "${name}", steps = ["s"], join = "j" }]\ngate = [{ before = "${name}", condition = "steps.complete > 1" }]\n` +
      `bond_points = [{ id = "both", after_step = "${name}" }]\n`;
    const { compose } = merged(of('f'), of('p'), of('q'));
    const order = ['p', 'q', 'f'];
    expect(compose.expand.map(({ target }) => target)).toEqual(order);
    expect(compose.map.map(({ target }) => target)).toEqual(order);
    expect(compose.branch.map(({ from }) => from)).toEqual(order);
    expect(compose.gate.map(({ before }) => before)).toEqual(order);
    expect(compose.aspects.map(({ name }) => name)).toEqual(['both', ...order]);
    expect(compose.bondPoints.map(({ after }) => after)).toEqual(['f']);
  },
  advice: () => expect(merged(advice('f'), advice('p'), advice('q')).advice.map(({ target }) => target)).toEqual(['p', 'q', 'f']),
  phase: () => {
    expect(merged('', 'phase = "vapor"', 'phase = "liquid"').phase).toBe('vapor');
    expect(merged('phase = "liquid"', 'phase = "vapor"').phase).toBe('liquid');
  },
  pour: () => {
    expect(merged('pour = false', '', 'pour = true').pour).toBe(true);
    expect(merged('').pour).toBe(false);
  },
  catalog: () =>
    expect(merged('[catalog]\nname = "f"', '[catalog]\nname = "p"\ndescription = "p"').catalog).toEqual({ name: 'f', description: 'p' }),
  metadata: () => {
    const { metadata } = merged(
      '[metadata]\nx = { a = "f" }',
      '[metadata]\nx = { a = "p", b = "p" }',
      '[metadata]\nx = { b = "q", c = "q" }\ny = 1',
    );
    expect(metadata).toEqual({ x: { a: 'f', b: 'p', c: 'q' }, y: 1 });
  },
};

describe('extends', () => {
  it.each(Object.keys(MERGE) as (keyof Formula)[])('merges %s', (key) => {
    RULES[key]();
    expect.hasAssertions();
  });

  it('says of a step what the formula says, and not what its parents say', () => {
    const of = (at: number, name: string): string =>
      `[compose]\ngate = [{ before = "a", condition = "steps.complete >= ${at}" }]\nbond_points = [{ id = "p", after_step = "a" }]\n` +
      `expand = [{ target = "b", with = "${name}" }, { target = "p", with = "${name}" }]\n`;
    const { compose } = merged(of(3, 'own'), of(1, 'e'), of(2, 'e'));
    expect(compose.gate.map(({ until }) => until)).toEqual([expect.objectContaining({ value: 3 })]);
    expect(compose.expand.map(({ target, with: name }) => `${target} ${name}`)).toEqual(['p e', 'p e', 'b own', 'p own']);
    // Of two parents none goes before the other.
    expect(merged('', of(1, 'e'), of(2, 'e')).compose.gate).toHaveLength(2);
  });

  it('counts what two parents have from a common one once', () => {
    const files = {
      'formulas/f.toml': 'formula = "f"\nextends = ["p", "q"]\n',
      'formulas/p.toml': 'formula = "p"\nextends = ["r"]\n',
      'formulas/q.toml': 'formula = "q"\nextends = ["r"]\n',
      'formulas/r.toml': `formula = "r"\n${step('a', 'A')}${advice('a')}`,
    };
    const { formula, issues } = whole('f', libraryOf(files));
    expect([issues, formula!.advice.length, formula!.steps.length]).toEqual([[], 1, 1]);
  });
});
