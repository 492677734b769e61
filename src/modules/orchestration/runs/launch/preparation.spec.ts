import { beforeEach, describe, expect, it } from '@jest/globals';
import { compile, type Compiled, type CompileOptions } from '../../formulas/compile/compile.js';
import { libraryOf } from '../../formulas/compile/testing/case.js';
import type { FormulaWork } from '../../formulas/formula-work.js';
import type { ConfigReadsService } from '../../../configuration/config/config-reads.service.js';
import type { RunsRepository } from '../runs.repository.js';
import { RunPreparation, type Wanted } from './preparation.service.js';

const STEP = '[[steps]]\nid = "a"\n';
const TEXTS: Readonly<Record<string, string>> = {
  plain: `formula = "plain"\n[vars]\nhow = "well"\n${STEP}title = "Do it {{how}}"\n`,
  said: `formula = "said"\n${STEP}title = "Do {{issue}}"\n`,
  hidden: `formula = "hidden"\n${STEP}title = "Do {{\\u0069ssue}}"\n`,
  chosen: `formula = "chosen"\n${STEP}title = "A"\n[[steps]]\nid = "b"\ntitle = "B"\ncondition = "{{issue}} == b-1"\n`,
  declared: `formula = "declared"\n[vars]\nissue = { pattern = "^b-[0-9]$" }\n${STEP}title = "A"\n`,
};
const FILES = Object.fromEntries(Object.entries(TEXTS).map(([name, text]) => [`formulas/${name}.toml`, text]));
const CITY = { name: 'alpha', streamId: 1 };

let compiled: CompileOptions[];
let formulaVars: Record<string, string>;
let hash: string;
/** What compiling waits for. */
let held: Promise<void> | undefined;
let preparation: RunPreparation;
beforeEach(() => {
  [compiled, formulaVars, hash, held] = [[], {}, 'one', undefined];
  const formulas = Object.keys(TEXTS).map((name) => ({ name, rig: '', file: `formulas/${name}.toml`, sha256: '' }));
  const reads = {
    current: () =>
      Promise.resolve({ hash, config: { formulas, agents: [], rigs: [{ name: 'web', formula_vars: formulaVars }], daemon: {} } }),
  } as unknown as ConfigReadsService;
  const work = {
    run: async (_city: unknown, _task: unknown, { name, options }: { name: string; options: CompileOptions }): Promise<Compiled> => {
      compiled.push(options);
      await held;
      return compile(name, libraryOf(FILES), options);
    },
  } as unknown as FormulaWork;
  const beads = { workBead: (_stream: number, id: string) => Promise.resolve(id) } as unknown as RunsRepository;
  preparation = new RunPreparation(reads, beads, work);
});
const prepare = (formula: string, more: Partial<Wanted> = {}) => preparation.prepare(CITY, { formula, rig: '', vars: {}, ...more });
const titles = async (formula: string, more: Partial<Wanted> = {}): Promise<string[]> =>
  (await prepare(formula, more)).steps.slice(1).map(({ title }) => title);

describe('a formula for many beads', () => {
  it('is compiled once when the bead makes no difference, and each run knows its own', async () => {
    const ids = ['b-1', 'b-2', 'b-3'];
    const recipes = await Promise.all(ids.map((source) => prepare('plain', { source })));
    expect(recipes.map(({ vars }) => vars)).toEqual(ids.map((issue) => ({ how: 'well', issue })));
    expect(recipes.map(({ steps }) => steps)).toEqual(ids.map(() => recipes[0]!.steps));
    expect(compiled).toHaveLength(1);
    const alone = await prepare('plain');
    expect(alone.vars).toEqual({ how: 'well' });
    expect(compiled).toHaveLength(2);
  });

  it('is compiled for each where it says something of the bead', async () => {
    expect(await Promise.all(['b-1', 'b-2', 'b-3'].map((source) => titles('said', { source })))).toEqual([
      ['Do b-1'],
      ['Do b-2'],
      ['Do b-3'],
    ]);
    expect([await titles('hidden', { source: 'b-1' }), await titles('hidden', { source: 'b-2' })]).toEqual([['Do b-1'], ['Do b-2']]);
    expect([await titles('chosen', { source: 'b-1' }), await titles('chosen', { source: 'b-2' })]).toEqual([['A', 'B'], ['A']]);
    await prepare('declared', { source: 'b-1' });
    await expect(prepare('declared', { source: 'b-10' })).rejects.toMatchObject({ problem: 'invalid_request' });
  });

  it('refuses the id of a bead that could not be a value, also beside those that can', async () => {
    await prepare('plain', { source: 'b-1' });
    await expect(prepare('plain', { source: '{{how}}' })).rejects.toMatchObject({ problem: 'invalid_request' });
    expect((await prepare('plain', { source: 'b-2' })).vars).toMatchObject({ issue: 'b-2' });
  });

  it('has the issue that the request or its rig says, whatever the bead is', async () => {
    expect((await prepare('plain', { source: 'b-1' })).vars).toMatchObject({ issue: 'b-1' });
    const said = { vars: { issue: 'other' } };
    expect((await prepare('plain', { ...said, source: 'b-1' })).vars).toMatchObject({ issue: 'other' });
    expect((await prepare('plain', { ...said, source: 'b-2' })).vars).toMatchObject({ issue: 'other' });
    formulaVars = { issue: 'of the rig' };
    expect((await prepare('plain', { rig: 'web', source: 'b-1' })).vars).toMatchObject({ issue: 'of the rig', rig_name: 'web' });
  });
});

describe('what is compiled again', () => {
  it('is another formula, another value, another rig and another revision', async () => {
    expect(await titles('plain')).toEqual(['Do it well']);
    expect(await titles('plain', { vars: { how: 'fast' } })).toEqual(['Do it fast']);
    expect(await titles('plain', { vars: { how: 'fast' } })).toEqual(['Do it fast']);
    await prepare('plain', { rig: 'web' });
    expect(compiled).toHaveLength(3);
    hash = 'two';
    expect(await titles('plain')).toEqual(['Do it well']);
    expect(compiled).toHaveLength(4);
  });

  it('is what was refused, also for who waited for another one', async () => {
    const gate = Promise.withResolvers<void>();
    held = gate.promise;
    const wrong = { vars: { who: 'nobody' } };
    const both = Promise.allSettled([prepare('plain', wrong), prepare('plain', wrong)]);
    gate.resolve();
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(compiled).toHaveLength(2);
  });

  it('is what was not used for longest', async () => {
    for (let n = 0; n < 65; n++) await prepare('plain', { vars: { how: `as ${n}` } });
    await prepare('plain', { vars: { how: 'as 64' } });
    await prepare('plain', { vars: { how: 'as 1' } });
    expect(compiled).toHaveLength(65);
    await prepare('plain', { vars: { how: 'as 0' } });
    expect(compiled).toHaveLength(66);
  });
});
