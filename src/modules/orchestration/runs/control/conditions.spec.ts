import { describe, expect, it } from '@jest/globals';
import type { RecipeStep } from '../../formulas/compile/recipe.js';
import { advance } from './advance.js';
import type { StepFact } from './facts.js';
import { Case } from './testing/case.js';

const step = (id: string, more = ''): string => `[[steps]]\nid = "${id}"\ntitle = "${id}"\n${more}`;
const gate = (condition: string): string => `[[compose.gate]]\nbefore = "z"\ncondition = "${condition}"\n`;
const OPENS = 'close f.gate-z: pass, its condition holds';

describe('the condition of a gate', () => {
  it('counts steps as they are written: no attempts, no gates, no fan-outs, no items', () => {
    const run = new Case(
      step('a', 'retry = { max_attempts = 3 }\n') +
        step('b', 'on_complete = { for_each = "output.files", bond = "e", vars = { path = "{item}" } }\n') +
        step('c', 'gate = { type = "human", id = "boss" }\n') +
        step('z') +
        gate('steps.complete >= 3'),
    );
    run.all();
    run.end('f.a.attempt.1', { word: 'pass' });
    expect(run.all()).toEqual(['close f.a: pass, attempt 1 passed']);
    run.end('f.gate-c', {});
    run.end('f.b', { output: '{"files":["x"]}' });
    run.all();
    run.end('f.b.item.1.look', {});
    expect(run.all()).toEqual(['close f.b-fanout: pass, all of its items have passed']);
    run.end('f.c', {});
    expect(run.all()).toEqual([OPENS]);
  });

  // Guard: gates that follow each other come to no bound of what may happen in one go.
  it('is decided in one look with all that follow from it, however many', () => {
    const all = Array.from({ length: 150 }, (_, n) => n + 1);
    const scopes = all.map((n) => step(`s${n}`, `needs = ["${n === 1 ? 'go' : `s${n - 1}`}"]\nmetadata = { "gc.kind" = "scope" }\n`));
    const gates = all.map((n) => `[[compose.gate]]\nbefore = "s${n}"\ncondition = "steps.complete >= ${n}"\n`);
    const run = new Case(step('go') + scopes.join('') + gates.join(''));
    run.all();
    run.end('f.go', {});
    const told = run.next();
    expect(told).toHaveLength(301);
    expect(told.slice(-3)).toEqual([
      'close f.gate-s150: pass, its condition holds',
      'close f.s150: pass, all of its members have passed',
      'finish pass: all steps are done',
    ]);
  });

  it('counts the steps of its unit, as they are written', () => {
    const item = `formula = "item"\n[requires]\nformula_compiler = ">=2.0.0"\n${step('a', 'retry = { max_attempts = 3 }\n')}${step('b')}${step('z')}${gate('steps.complete >= 2')}`;
    const run = new Case(step('d', 'drain = { formula = "item" }\n'), { 'formulas/item.toml': item });
    run.takes('f.d', ['de-1', 'de-2']);
    run.all();
    run.end('f.d.unit.1.a.attempt.1', { word: 'pass' });
    run.end('f.d.unit.2.b', {});
    expect(run.all()).toEqual(['close f.d.unit.1.a: pass, attempt 1 passed']);
    run.end('f.d.unit.1.b', {});
    expect(run.all()).toEqual(['close f.d.unit.1.gate-z: pass, its condition holds']);
  });

  it('counts children as they are written, and not what they try', () => {
    const child = '[[steps.children]]\nid = "b"\ntitle = "B"\nretry = { max_attempts = 2 }\n[[steps.children]]\nid = "c"\ntitle = "C"\n';
    const run = new Case(step('a', child) + step('z') + gate("children(a).count(status == 'completed') >= 2"));
    run.all();
    run.end('f.a.b.attempt.1', { word: 'pass' });
    expect(run.all()).toEqual(['close f.a.b: pass, attempt 1 passed']);
    run.end('f.a.c', {});
    expect(run.all()).toEqual([OPENS]);
  });

  it.each([
    ['rounds', step('s', 'loop = { count = 2, body = [{ id = "b", title = "B" }] }\n'), ['f.s.iter1.b', 'f.s.iter2.b']],
    ['an expansion', step('s', 'expand = "two"\n'), ['f.s.x', 'f.s.y']],
  ])('asks for all that has become of a step: %s', (_what, replaced, [first, second]) => {
    const two = `formula = "two"\ntype = "expansion"\n[[template]]\nid = "{target}.x"\ntitle = "X"\n[[template]]\nid = "{target}.y"\ntitle = "Y"\nneeds = ["{target}.x"]\n`;
    const run = new Case(replaced + step('z') + gate("children(s).all(status == 'completed')"), { 'formulas/two.toml': two });
    run.end(first!, {});
    expect(run.all()).toEqual([]);
    run.end(second!, {});
    expect(run.all()).toEqual([OPENS]);
  });
});

describe('the condition of a loop', () => {
  const loop = (body: string): string =>
    step('l', `[steps.loop]\nuntil = "step.output.done == true"\nmax = 2\n${body.replaceAll('[[', '[[steps.loop.')}`);
  const DONE = 'close f.l: pass, it held after round 1';
  const more = '[[body]]\nid = "b"\ntitle = "B"\n';

  it.each([
    ['fans out', `${more}on_complete = { for_each = "output.files", bond = "e", vars = { path = "{item}" } }\n`, []],
    ['has children', `${more}[[body.children]]\nid = "c"\ntitle = "C"\n`, ['b.l.iter1.c']],
    [
      'waits for one that fans out',
      `${more}needs = ["a"]\n[[body]]\nid = "a"\ntitle = "A"\non_complete = { for_each = "output.files", bond = "e", vars = { path = "{item}" } }\n`,
      ['a'],
    ],
    ['stands before what it waits for', `${more}needs = ["a"]\n[[body]]\nid = "a"\ntitle = "A"\n`, ['a']],
    ['is tidied up after', `${more}[[body]]\nid = "t"\ntitle = "T"\nneeds = ["b"]\nmetadata = { "gc.kind" = "cleanup" }\n`, ['t']],
    [
      'is in a scope',
      `[[body]]\nid = "s"\ntitle = "S"\nmetadata = { "gc.kind" = "scope" }\n${more}metadata = { "gc.scope_ref" = "s" }\n`,
      [],
    ],
  ])('asks the step that ends a round, also when it %s', (_what, body, others) => {
    const run = new Case(loop(body));
    run.all();
    for (const id of others) run.end(`f.l.iter1.${id}`, { output: '{"done":false,"files":[]}' });
    run.end('f.l.iter1.b', { output: '{"done":true,"files":[]}' });
    expect(run.all()).toContain(DONE);
    expect(run.facts[0]!.ended!.output).toBe('{"done":true,"files":[]}');
  });

  // Guard: whoever ends the next step of the run would be refused, and so would all gates that are due in the city.
  it.each([
    ['a loop', loop(more).replace('output.done', 'output.files'), 'l.iter1.b', /^add f\.l\.iter2\.b/],
    [
      'a fan-out',
      step('a', 'on_complete = { for_each = "output.files", bond = "e", vars = { path = "{item}" } }\n'),
      'a',
      /^close f\.a-fanout: fail, f\.a handed on no list as output\.files/,
    ],
    [
      'a retry',
      step('r', 'metadata = { "gc.output_json_required" = "true" }\nretry = { max_attempts = 2 }\n'),
      'r.attempt.1',
      /^add f\.r\.attempt\.2/,
    ],
  ])('takes what is nested thousands of times for no output: %s', (_what, text, id, told) => {
    const run = new Case(text + step('z'));
    run.all();
    run.end(`f.${id}`, { word: 'pass', output: `{"files":[${'['.repeat(8_000)}${']'.repeat(8_000)}]}` });
    expect(run.all()[0]).toMatch(told);
  });

  it('does not hold while an item of its last step has failed', () => {
    const fan = `${more}on_complete = { for_each = "output.files", bond = "e", vars = { path = "{item}" } }\n`;
    const run = new Case(loop(fan).replace('step.output.done == true', "step.status == 'completed'"));
    run.all();
    run.end('f.l.iter1.b', { output: '{"files":["x"]}' });
    run.all();
    run.end('f.l.iter1.b.item.1.look', { word: 'fail', failure: 'transient' });
    expect(run.all().at(-1)).toMatch(/^add f\.l\.iter2\.b/);
  });

  it('hands on what ends the round of a check', () => {
    const run = new Case(
      step('a', 'check = { max_attempts = 1, check = { mode = "exec", path = "../assets/green.sh" } }\n') +
        '[[steps.children]]\nid = "b"\ntitle = "B"\nneeds = ["c"]\n[[steps.children]]\nid = "c"\ntitle = "C"\n',
    );
    run.all();
    run.end('f.a.iteration.1.c', { output: '"c"' });
    run.end('f.a.iteration.1.b', { output: '"b"' });
    run.verdict('f.a', 1, true);
    run.all();
    expect(run.facts[0]!.ended!.output).toBe('"b"');
  });

  it('compares with the values of variables', () => {
    const run = new Case(
      `[vars]\nmin = "8"\n${step('l', 'loop = { until = "step.output.score >= {{min}}", max = 2, body = [{ id = "b", title = "B" }] }\n')}`,
    );
    run.all();
    run.end('f.l.iter1.b', { output: '{"score":9}' });
    expect(run.all()).toContain(DONE);
  });

  it('compares with what its item says', () => {
    const e = `formula = "e"\ntype = "expansion"\n[vars]\nleast = { required = true }\n[[template]]\nid = "{target}.l"\ntitle = "L"\nloop = { until = "step.output.score >= {least}", max = 2, body = [{ id = "b", title = "B" }] }\n`;
    const run = new Case(step('a', 'on_complete = { for_each = "output.files", bond = "e", vars = { least = "{item.least}" } }\n'), {
      'formulas/e.toml': e,
    });
    run.end('f.a', { output: '{"files":[{"least":3},{"least":5}]}' });
    run.all();
    for (const n of [1, 2]) run.end(`f.a.item.${n}.l.iter1.b`, { output: '{"score":4}' });
    expect(run.all()).toEqual(['close f.a.item.1.l: pass, it held after round 1', 'add f.a.item.2.l.iter2.b "B"']);
  });
});

describe('what is looked at when a step ends', () => {
  let looks = 0;
  const fact = (id: string, more: Partial<RecipeStep> = {}, rest: Partial<StepFact> = {}): StepFact => ({
    step: {
      ...{ id, type: 'task', title: id, description: '', notes: '', labels: [], metadata: {}, assignee: '' },
      ...more,
      get kind() {
        looks += 1;
        return more.kind ?? ('task' as const);
      },
    },
    started: false,
    ...rest,
  });

  // As runs are stored that were begun when rounds were kept as they were written.
  it('is not all of it again for each step that a failure skips, in whatever order they stand', () => {
    const size = 500;
    const steps = Array.from({ length: size }, (_, n) => fact(`f.s${n}`, {}, n === size - 1 ? { ended: { word: 'fail' } } : {}));
    const edges = Array.from({ length: size - 1 }, (_, n) => ({ from: `f.s${n + 1}`, to: `f.s${n}`, kind: 'blocks' as const }));
    looks = 0;
    expect(advance({ steps, edges })).toHaveLength(size);
    expect(looks).toBeLessThan(20 * size);
  });

  it('is not all of it again for each gate', () => {
    const size = 400;
    const until = { subject: 'children', of: 'f.p', quantifier: 'all', status: 'completed', operator: '>=', value: 1 } as const;
    const complete = { subject: 'complete', operator: '>', value: size } as const;
    const steps = Array.from({ length: size }, (_, n) => [
      fact(`f.p.s${n}`),
      fact(`f.gate-${n}`, { kind: 'gate', control: { kind: 'gate', type: 'condition', id: '', until: n % 2 === 0 ? until : complete } }),
    ]).flat();
    looks = 0;
    expect(advance({ steps, edges: [] })).toEqual([]);
    expect(looks).toBeLessThan(40 * size);
  });
});
