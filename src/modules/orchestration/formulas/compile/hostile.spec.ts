import { describe, expect, it } from '@jest/globals';
import { compile } from './compile.js';
import { libraryOf } from './testing/case.js';

const V2 = '[requires]\nformula_compiler = ">=2.0.0"\n';
const expansion = (name: string, template: string): string => `formula = "${name}"\ntype = "expansion"\n${template}`;
const step = (id: string, more = ''): string => `[[steps]]\nid = "${id}"\ntitle = "${id}"\n${more}\n`;

/** Each would take an age, or all memory, without a bound on it. */
const HOSTILE: Readonly<Record<string, { files: Record<string, string>; vars?: Record<string, string>; says: RegExp }>> = {
  'a loop in a loop in a loop': {
    files: {
      f: 'formula = "f"\n[[steps]]\nid = "a"\nloop = { count = 1000, body = [{ id = "b", loop = { count = 1000, body = [{ id = "c", loop = { count = 1000, body = [{ id = "d", title = "D" }] } }] } }] }\n',
    },
    says: /more than \d+ (steps|copies of steps|dependencies)/,
  },
  'empty loops in loops': {
    files: {
      f: 'formula = "f"\n[[steps]]\nid = "a"\nloop = { count = 1000, body = [{ id = "b", loop = { count = 1000, body = [{ id = "c", loop = { count = 0, body = [{ id = "d", title = "D" }] } }] } }] }\n',
    },
    says: /more than/,
  },
  'expansions of four in each other': {
    files: {
      f: `formula = "f"\n[[steps]]\nid = "a"\nexpand = "e"\n`,
      e: expansion('e', Array.from({ length: 40 }, (_, n) => `[[template]]\nid = "{target}.x${n}"\nexpand = "e"\n`).join('')),
    },
    says: /more than/,
  },
  'fan-outs of themselves': {
    files: {
      f: `formula = "f"\n${V2}${step('a', 'on_complete = { for_each = "output.x", bond = "e" }')}`,
      e: `${expansion('e', '')}${V2}${Array.from({ length: 20 }, (_, n) => `[[template]]\nid = "{target}.x${n}"\ntitle = "x"\non_complete = { for_each = "output.x", bond = "e" }\n`).join('')}`,
    },
    says: /more than/,
  },
  'a description that doubles': {
    files: {
      f: `formula = "f"\n[[steps]]\nid = "a"\nexpand = "e1"\nexpand_vars = { x = "${'y'.repeat(5_000)}" }\n`,
      ...Object.fromEntries(
        [1, 2, 3, 4, 5].map((n) => [
          `e${n}`,
          `${expansion(`e${n}`, '')}[vars]\nx = ""\n[[template]]\nid = "{target}.t"\n${n === 5 ? 'title = "T"\ndescription = "{x}"' : `expand = "e${n + 1}"\nexpand_vars = { x = "${'{x}'.repeat(200)}" }`}\n`,
        ]),
      ),
    },
    says: /a text of more than/,
  },
  'a tower of powers': {
    files: { f: 'formula = "f"\n[[steps]]\nid = "a"\nloop = { range = "1..2^2^2^2^2^2", body = [{ id = "b", title = "B" }] }\n' },
    says: /beyond/,
  },
  'a thousand brackets': {
    files: { f: `formula = "f"\n[[steps]]\nid = "a"\nloop = { range = "1..${'('.repeat(400)}1", body = [{ id = "b", title = "B" }] }\n` },
    says: /brackets/,
  },
  'a pattern that others fear': {
    files: { f: 'formula = "f"\n[vars]\nv = { required = true, pattern = "^(a|a|b?)*(a|aa)+$" }\n' },
    vars: { v: `${'a'.repeat(16_000)}!` },
    says: /does not match|comparisons/,
  },
  'patterns beyond measure': {
    files: {
      f: `formula = "f"\n[vars]\n${Array.from({ length: 100 }, (_, n) => `v${n} = { required = true, pattern = "^(a?){200}$" }\n`).join('')}`,
    },
    vars: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`v${n}`, 'a'.repeat(2_000)])),
    says: /comparisons of patterns/,
  },
  'a diamond of parents': {
    files: Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [
        n === 0 ? 'f' : `p${n}`,
        `formula = "${n === 0 ? 'f' : `p${n}`}"\nextends = [${[n + 1, n + 2, n + 3].map((to) => `"p${to}"`).join(', ')}]\n`,
      ]),
    ),
    says: /parents of parents|more than 64 files|no formula/,
  },
  'too many files': {
    files: {
      f: `formula = "f"\nextends = [${Array.from({ length: 70 }, (_, n) => `"p${n}"`).join(', ')}]\n`,
      ...Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`p${n}`, `formula = "p${n}"\n`])),
    },
    says: /more than 64 files/,
  },
  'everybody waits for everybody': {
    files: {
      f: `formula = "f"\n${Array.from({ length: 190 }, (_, n) => step(`s${n}`, `needs = [${Array.from({ length: n < 95 ? 0 : 95 }, (_each, m) => `"s${m}"`).join(', ')}]`)).join('')}${Array.from({ length: 12 }, (_, n) => `[[advice]]\ntarget = "*"\nbefore = { id = "b${n}" }\n`).join('')}`,
    },
    says: /more than|TOML|larger|values/,
  },
  'bond points before what waits for much': {
    files: {
      f: `formula = "f"\n${V2}${Array.from({ length: 40 }, (_, n) => step(`a${n}`)).join('')}${step(
        'l',
        `[steps.loop]\ncount = 1\n${Array.from({ length: 41 }, (_, n) => `[[steps.loop.body]]\nid = "b${n}"\ntitle = "B"\nneeds = [${n === 40 ? '' : Array.from({ length: 40 }, (_each, m) => `"a${m}"`).join(', ')}]\n`).join('')}`,
      )}[compose]\nbond_points = [{ id = "p", before_step = "l" }]\nexpand = [${Array.from({ length: 30 }, (_, n) => `{ target = "p", with = "e", vars = { n = "${n}" } }`).join(', ')}]\n`,
      e: `${expansion('e', '')}[vars]\nn = ""\n[[template]]\nid = "{target}.x{n}"\ntitle = "X"\n`,
    },
    says: /more than \d+ dependencies/,
  },
  'names of objects': {
    files: {
      f: 'formula = "f"\n[vars]\nconstructor = "x"\n[[steps]]\nid = "toString"\ntitle = "{{hasOwnProperty}} {{constructor}}"\nneeds = ["valueOf"]\n',
    },
    says: /hasOwnProperty/,
  },
};

describe('hostile formulas', () => {
  it.each(Object.keys(HOSTILE))('refuses %s', (name) => {
    const { files, vars = {}, says } = HOSTILE[name]!;
    const library = libraryOf(Object.fromEntries(Object.entries(files).map(([each, text]) => [`formulas/${each}.toml`, text])));
    const { recipe, issues } = compile('f', library, { vars, injected: {}, strict: true, compiler: '2.0.0' });
    expect(recipe).toBeUndefined();
    expect(issues.map(({ message }) => message).join('\n')).toMatch(says);
  });
});
