import { describe, expect, it } from '@jest/globals';
import { attemptOf, outcomeOf } from './outcome.js';
import { MAX_ITEMS } from './rounds.js';
import { Case } from './testing/case.js';
import { holds, type Asked, type Status, type Tally } from './until.js';

describe('what follows in a run', () => {
  it('a retry makes an attempt at a time, and hands on what the last one did', () => {
    const run = new Case('[[steps]]\nid = "a"\ntitle = "A"\nretry = { max_attempts = 2 }\n');
    expect(run.next()).toEqual(['add f.a.attempt.1 "A"']);
    expect(run.facts[1]!.step.metadata).toEqual({});
    expect(run.next()).toEqual([]);
    run.end('f.a.attempt.1', { word: 'fail', failure: 'transient', reason: 'busy' });
    expect(run.next()).toEqual(['add f.a.attempt.2 "A"']);
    run.end('f.a.attempt.2', { word: 'pass', output: '{"n":1}' });
    expect(run.next()).toEqual(['close f.a: pass, attempt 2 passed', 'finish pass: all steps are done']);
    expect(run.facts[0]!.ended!.output).toBe('{"n":1}');
  });

  // Guards: what waits for a bead of somebody would be begun, and what is failed by a step of its own run would wait.
  it('begins and ends nothing that waits for what is outside the run, and skips it all the same', () => {
    const run = new Case(
      '[[steps]]\nid = "a"\ntitle = "A"\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\nretry = { max_attempts = 2 }\n[[steps]]\nid = "s"\ntitle = "S"\nmetadata = { "gc.kind" = "scope" }\n',
    );
    run.waits('f.s', true);
    expect(run.next()).toEqual([]);
    run.waits('f.s', false);
    run.waits('f.b', true);
    expect(run.next()).toEqual(['close f.s: pass, all of its members have passed']);
    run.end('f.a', { word: 'fail' });
    expect(run.next()).toEqual(['close f.b: skipped, f.a failed', 'finish fail: f.a failed']);
  });

  it('a retry that is used up fails, or passes when that is harmless', () => {
    for (const [kind, told] of [
      ['hard_fail', ['close f.a: fail, missing_outcome (hard_fail)', 'finish fail: f.a failed']],
      ['soft_fail', ['close f.a: pass, missing_outcome (soft_fail)', 'finish pass: all steps are done']],
    ] as const) {
      const run = new Case(`[[steps]]\nid = "a"\ntitle = "A"\nretry = { max_attempts = 1, on_exhausted = "${kind}" }\n`);
      run.next();
      run.end('f.a.attempt.1', {});
      expect(run.next()).toEqual(told);
    }
  });

  it('a check asks its script, and only about a round that has passed', () => {
    const run = new Case(
      '[[steps]]\nid = "a"\ntitle = "A"\ncheck = { max_attempts = 3, check = { mode = "exec", path = "../assets/green.sh" } }\n',
    );
    expect(run.next()).toEqual(['add f.a.iteration.1 "A"']);
    run.end('f.a.iteration.1', { word: 'fail' });
    expect(run.next()).toEqual(['add f.a.iteration.2 "A"']);
    run.end('f.a.iteration.2', {});
    expect(run.next()).toEqual(['script f.a']);
    run.asks('f.a', 2);
    expect(run.next()).toEqual([]);
    run.verdict('f.a', 2, false);
    expect(run.next()).toEqual(['add f.a.iteration.3 "A"']);
    run.end('f.a.iteration.3', {});
    expect(run.next()).toEqual(['script f.a']);
    run.verdict('f.a', 3, true);
    expect(run.next()).toEqual(['close f.a: pass, iteration 3 passed its check', 'finish pass: all steps are done']);
  });

  it('a check whose script cannot be run tries nothing again', () => {
    const run = new Case(
      '[[steps]]\nid = "a"\ntitle = "A"\ncheck = { max_attempts = 3, check = { mode = "exec", path = "../assets/green.sh" } }\n',
    );
    run.next();
    run.end('f.a.iteration.1', {});
    run.verdict('f.a', 1, false, { broken: true });
    expect(run.next()).toEqual(['close f.a: fail, not green (controller_error)', 'finish fail: f.a failed']);
  });

  it('a loop goes on until it holds', () => {
    const run = new Case(
      '[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "step.output.score >= 8", max = 2, var = "n", body = [{ id = "b", title = "Round {n}" }] }\n',
    );
    expect(run.next()).toEqual(['add f.a.iter1.b "Round 1"']);
    run.end('f.a.iter1.b', { output: '{"score":7}' });
    expect(run.next()).toEqual(['add f.a.iter2.b "Round 2"']);
    run.end('f.a.iter2.b', { output: '{"score":"7"}' });
    expect(run.next()).toEqual(['close f.a: fail, it did not hold after 2 rounds (hard_fail)', 'finish fail: f.a failed']);
  });

  const LIST =
    '[[steps]]\nid = "a"\ntitle = "A"\non_complete = { for_each = "output.files", bond = "e", vars = { path = "{item.path}" } }\n';

  it.each([
    ['{"files":[{"path":"x"},{"path":"y"}]}', ['add f.a.item.1.look "Look at x", f.a.item.2.look "Look at y"']],
    ['{"files":[]}', ['close f.a-fanout: pass, there was nothing to do', 'finish pass: all steps are done']],
    [
      '{"files":{"x":1}}',
      ['close f.a-fanout: fail, f.a handed on no list as output.files (control_quarantined)', 'finish fail: f.a-fanout failed'],
    ],
    ...['\\u0000', '\\ud800'].map((escape): [string, string[]] => [
      `{"files":[{"path":"x"},{"path":"a${escape}b"}]}`,
      ['close f.a-fanout: fail, item 2 has characters that cannot be stored (control_quarantined)', 'finish fail: f.a-fanout failed'],
    ]),
    ['{"files":[{}]}', ['close f.a-fanout: fail, item 1 has no path (control_quarantined)', 'finish fail: f.a-fanout failed']],
    [
      JSON.stringify({ files: Array.from({ length: MAX_ITEMS + 1 }, () => ({ path: 'x' })) }),
      [`close f.a-fanout: fail, more than ${MAX_ITEMS} items (control_quarantined)`, 'finish fail: f.a-fanout failed'],
    ],
  ])('items of %.40s', (output, told) => {
    const run = new Case(LIST);
    expect(run.next()).toEqual([]);
    run.end('f.a', { output });
    expect(run.next()).toEqual(told);
  });

  /** A run of a formula as it compiled before. */
  const withIds = (run: Case, id: string, instead: string): Case => {
    run.facts = JSON.parse(JSON.stringify(run.facts).replaceAll(id, instead)) as Case['facts'];
    return run;
  };

  // Guard: a round brings no id that another step has.
  it('items that would have one id are not made', () => {
    const run = withIds(new Case(LIST), 'f.a.item.{index}.look', 'f.look');
    run.end('f.a', { output: '{"files":[{"path":"x"},{"path":"y"}]}' });
    expect(run.next()).toEqual([
      'close f.a-fanout: fail, there is another step f.look (control_quarantined)',
      'finish fail: f.a-fanout failed',
    ]);
    const one = withIds(new Case(LIST), 'f.a.item.{index}.look', 'f.look');
    one.end('f.a', { output: '{"files":[{"path":"x"}]}' });
    expect(one.next()).toEqual(['add f.look "Look at x"']);
  });

  it.each([
    ['', 'add f.try "B"'],
    [', retry = { max_attempts = 2 }', 'close f.a: fail, there is another step f.try (control_quarantined)'],
  ])('a round does not take for its own what another one has made:%s', (retry, told) => {
    const loop = `loop = { until = "step.output.done == true", max = 3, body = [{ id = "b", title = "B"${retry} }] }`;
    const run = withIds(new Case(`[[steps]]\nid = "a"\ntitle = "A"\n${loop}\n`), 'f.a.iter{iteration}.b', 'f.try');
    run.all();
    run.end(retry === '' ? 'f.try' : 'f.try.attempt.1', { word: 'pass' });
    expect(run.all()).toContain(told);
  });

  // Guard: a run of before goes on where what has one id in all rounds makes nothing.
  it('a gate of before has one id in all rounds of its loop', () => {
    const loop = `loop = { until = "step.output.done == true", max = 3, body = [{ id = "b", title = "B", gate = { type = "human", id = "ok" } }] }`;
    const run = withIds(new Case(`[[steps]]\nid = "a"\ntitle = "A"\n${loop}\n`), 'a.iter{iteration}.', '');
    expect(run.all()).toEqual(['add f.gate-b "Gate: human ok", f.b "B"']);
    run.end('f.gate-b', { word: 'pass' });
    run.end('f.b', { word: 'pass' });
    expect(run.all()).toEqual(['add f.gate-b "Gate: human ok", f.b "B"']);
  });

  it.each([
    ['', 'add f.look.1 "Look at x"'],
    ['retry', 'close f.a.iter2.b-fanout: fail, there is another step f.look.1 (control_quarantined)'],
  ])('items of before have one id in all rounds of a loop, where they make nothing: %s', (retry, told) => {
    const loop = `loop = { until = "step.output.done == true", max = 3, body = [{ id = "b", title = "B", on_complete = { for_each = "output.files", bond = "look" } }] }`;
    const template = `${expansion(retry === '' ? '' : 'retry = { max_attempts = 2 }')
      .replace('"e"', '"look"')
      .replace('"X"', '"Look at {item}"')}`;
    const run = withIds(
      new Case(`[[steps]]\nid = "a"\ntitle = "A"\n${loop}\n`, { 'formulas/look.toml': template }),
      'f.a.iter{iteration}.b.item.{index}.x',
      'f.look.{index}',
    );
    run.all();
    run.end('f.a.iter1.b', { output: '{"files":["x"]}' });
    expect(run.all()).toContain('add f.look.1 "Look at x"');
    run.end(retry === '' ? 'f.look.1' : 'f.look.1.attempt.1', { word: 'pass' });
    expect(run.all()).toContain('add f.a.iter2.b "B", f.a.iter2.b-fanout "Each of output.files: look"');
    run.end('f.a.iter2.b', { output: '{"files":["x"]}' });
    expect(run.all()).toContain(told);
  });

  const expansion = (template: string): string =>
    `formula = "e"\ntype = "expansion"\n[requires]\nformula_compiler = ">=2.0.0"\n[[template]]\nid = "{target}.x"\ntitle = "X"\n${template}\n`;
  const ANY = '[[steps]]\nid = "a"\ntitle = "A"\non_complete = { for_each = "output.files", bond = "e" }\n';
  const many = (item: string): string => JSON.stringify({ files: Array.from({ length: MAX_ITEMS }, () => item) });

  // Guards: everything that items are made of is measured, before they are made; what they grow by is measured while it grows.
  it.each([
    ['a text that grows', `description = "${'{item}'.repeat(3_300)}"`, 'x'.repeat(77)],
    ['a text that vanishes', `description = "${'{item}'.repeat(3_300)}"`, ''],
    ['notes', `notes = "${'x'.repeat(6_000)}"`, ''],
    ['metadata', `metadata = { a = "${'x'.repeat(3_000)}", b = "${'x'.repeat(3_000)}" }`, ''],
    ['names of metadata', `metadata = { ${Array.from({ length: 8 }, (_, n) => `${'x'.repeat(800)}${n} = "a"`).join(', ')} }`, ''],
    ['labels', `tags = [${Array.from({ length: 30 }, (_, n) => `"${'x'.repeat(197)}${n}"`).join(', ')}]`, ''],
    [
      'what is repeated',
      `loop = { until = "step.status == 'completed'", max = 2, body = [{ id = "b", title = "B", description = "${'x'.repeat(6_000)}" }] }`,
      '',
    ],
  ])('items are begun only when they fit: %s', (_what, template, item) => {
    const run = new Case(ANY, { 'formulas/e.toml': expansion(template) });
    run.end('f.a', { output: many(item) });
    expect(run.next()).toEqual([
      `close f.a-fanout: fail, items of more than 1048576 characters (control_quarantined)`,
      'finish fail: f.a-fanout failed',
    ]);
  });

  it('of many items nothing is made when the run would have too many steps', () => {
    const body = Array.from({ length: 26 }, (_, n) => `{ id = "b${n}", title = "B" }`).join(', ');
    const run = new Case(ANY, { 'formulas/e.toml': expansion(`loop = { count = 1, body = [${body}] }`) });
    run.end('f.a', { output: many('x') });
    expect(run.next()).toEqual([
      'close f.a-fanout: fail, the run has more than 5000 steps (control_quarantined)',
      'finish fail: f.a-fanout failed',
    ]);
  });

  // Guard: what one change begins together has to fit into the run together.
  it('a run gets no more steps than it may have, whatever begins at once', () => {
    const body = Array.from({ length: 30 }, (_, n) => `{ id = "b${n}", title = "B" }`).join(', ');
    const loop = `loop = { until = "step.status == 'completed'", max = 2, body = [${body}] }`;
    const run = new Case(ANY, { 'formulas/e.toml': expansion(loop) });
    run.end('f.a', { output: many('x') });
    run.next();
    const acts = run.next();
    expect(acts.filter((act) => act.startsWith('add '))).toHaveLength(159);
    expect(acts.filter((act) => act.includes('the run has more than 5000 steps'))).toHaveLength(MAX_ITEMS - 159);
  });

  it('units are begun only when all that they are made of fits', () => {
    const entries = Array.from({ length: 15 }, (_, n) => `k${n} = "${'x'.repeat(16_000)}"`).join(', ');
    const item = `formula = "item"\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "x"\ntitle = "X"\nmetadata = { ${entries} }\n`;
    const run = new Case('[[steps]]\nid = "d"\ntitle = "D"\ndrain = { formula = "item" }\n', { 'formulas/item.toml': item });
    run.takes(
      'f.d',
      Array.from({ length: 100 }, (_, n) => `de-${n}`),
    );
    expect(run.next()).toEqual([
      'close f.d: fail, units of more than 1048576 characters (control_quarantined, limit_exceeded)',
      'finish fail: f.d failed',
    ]);
  });

  // Guard: rounds fit one by one, and not together.
  it('a run gets no more characters than it may have, however many rounds it goes', () => {
    const entries = Array.from({ length: 15 }, (_, n) => `k${n} = "${'x'.repeat(16_000)}"`).join(', ');
    const body = `[{ id = "b", title = "B", metadata = { ${entries} } }]`;
    const run = new Case(`[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "step.status == 'failed'", max = 100, body = ${body} }\n`);
    let round = 0;
    let acts = run.next();
    while (acts.some((act) => act.startsWith('add '))) {
      round += 1;
      run.end(`f.a.iter${round}.b`, { word: 'pass' });
      acts = run.next();
    }
    expect(acts[0]).toBe('close f.a: fail, the run has more than 16777216 characters (control_quarantined)');
    expect(round).toBe(68);
  });

  it('units do not begin where the run has no characters left for them, and reports call it so', () => {
    const item = `formula = "item"\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "x"\ntitle = "X"\ndescription = "${'x'.repeat(9_000)}"\n`;
    const ids = Array.from({ length: 20 }, (_, n) => `d${n}`);
    const drains = ids.map((id) => `[[steps]]\nid = "${id}"\ntitle = "D"\ndrain = { formula = "item" }\n`).join('');
    const run = new Case(drains, { 'formulas/item.toml': item });
    const members = Array.from({ length: 100 }, (_, n) => `de-${n}`);
    for (const id of ids) run.takes(`f.${id}`, members);
    const acts = run.next();
    expect(acts.filter((act) => act.startsWith('add '))).toHaveLength(18);
    expect(acts.filter((act) => act.startsWith('close '))).toEqual(
      ids.slice(18).map((id) => `close f.${id}: fail, the run has more than 16777216 characters (control_quarantined, limit_exceeded)`),
    );
  });

  it('a run gets no more characters than it may have, whatever begins at once', () => {
    const ids = Array.from({ length: 20 }, (_, n) => `a${n}`);
    const run = new Case(ids.map((id) => ANY.replace('id = "a"', `id = "${id}"`)).join(''), {
      'formulas/e.toml': expansion(`description = "${'x'.repeat(5_000)}"`),
    });
    for (const id of ids) run.end(`f.${id}`, { output: many('x') });
    const acts = run.next();
    expect(acts.filter((act) => act.startsWith('add '))).toHaveLength(16);
    expect(acts.filter((act) => act.includes('the run has more than 16777216 characters'))).toHaveLength(4);
  });

  it('cleaning up is done whatever fails, and fails nothing', () => {
    const run = new Case(`
[[steps]]
id = "s"
title = "S"
metadata = { "gc.kind" = "scope" }
[[steps]]
id = "m"
title = "M"
metadata = { "gc.scope_ref" = "s", "gc.on_fail" = "abort_scope" }
[[steps]]
id = "n"
title = "N"
metadata = { "gc.scope_ref" = "s" }
[[steps]]
id = "t"
title = "T"
metadata = { "gc.kind" = "cleanup", "gc.scope_ref" = "s", "gc.scope_role" = "teardown" }
[[steps]]
id = "z"
title = "Z"
needs = ["s"]
`);
    expect(run.next()).toEqual([]);
    run.end('f.m', { word: 'fail' });
    expect(run.next()).toEqual(['close f.n: skipped, f.m failed', 'close f.s: fail, f.m failed', 'close f.z: skipped, f.s failed']);
    run.end('f.t', { word: 'fail' });
    expect(run.next()).toEqual(['finish fail: f.s failed']);
  });

  // Guard: what waits for it is done whatever became of it, gates and checks too.
  it.each([
    '[[steps]]\nid = "w"\ntitle = "W"\n[[steps]]\nid = "t"\ntitle = "T"\nneeds = ["w"]\nmetadata = { "gc.kind" = "cleanup" }\n',
    '[[steps]]\nid = "s"\ntitle = "S"\nmetadata = { "gc.kind" = "scope" }\n[[steps]]\nid = "w"\ntitle = "W"\nmetadata = { "gc.scope_ref" = "s" }\n[[steps]]\nid = "t"\ntitle = "T"\nmetadata = { "gc.scope_ref" = "s", "gc.scope_role" = "teardown" }\n',
  ])('what cleans up has nothing skipped for it: %#', (text) => {
    const run = new Case(`${text}[[steps]]\nid = "go"\ntitle = "Go"\nneeds = ["t"]\ngate = { type = "human", id = "ok" }\n`);
    run.end('f.w', { word: 'pass' });
    run.next();
    run.end('f.t', { word: 'fail' });
    expect(run.next()).toEqual([]);
    run.end('f.gate-go', { word: 'pass' });
    run.end('f.go', { word: 'pass' });
    expect(run.next()).toEqual(['finish pass: all steps are done']);
  });

  it('a scope ends as the worst of its members has', () => {
    for (const [word, told] of [
      ['canceled', ['close f.s: canceled, f.m was canceled', 'close f.z: skipped, f.m was canceled', 'finish canceled: f.s was canceled']],
      ['skipped', ['close f.s: skipped, f.m was skipped', 'close f.z: skipped, f.m was skipped', 'finish pass: all steps are done']],
    ] as const) {
      const run = new Case(`
[[steps]]
id = "s"
title = "S"
metadata = { "gc.kind" = "scope" }
[[steps]]
id = "n"
title = "N"
metadata = { "gc.scope_ref" = "s" }
[[steps]]
id = "m"
title = "M"
metadata = { "gc.scope_ref" = "s" }
[[steps]]
id = "z"
title = "Z"
needs = ["s"]
`);
      run.end('f.m', { word });
      expect(run.next()).toEqual([]);
      run.end('f.n', { word: 'pass' });
      expect(run.next()).toEqual(told);
    }
  });

  it('what an ended control has made ends with it', () => {
    const run = new Case(
      `[[steps]]\nid = "a"\ntitle = "A"\ncheck = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }
[[steps.children]]\nid = "r"\ntitle = "R"\nretry = { max_attempts = 2 }\n[[steps.children]]\nid = "p"\ntitle = "P"\n`,
    );
    run.next();
    expect(run.next()).toEqual(['add f.a.iteration.1.r.attempt.1 "R"']);
    // As the limit of a round ends it.
    for (const id of ['r', 'p']) run.end(`f.a.iteration.1.${id}`, { word: 'fail', failure: 'transient', reason: 'timeout' });
    expect(run.next()[0]).toBe('close f.a.iteration.1.r.attempt.1: skipped, f.a.iteration.1.r failed');
    run.end('f.a', { word: 'pass' });
    expect(run.next()).toEqual([
      'close f.a.iteration.2.r: skipped, f.a passed',
      'close f.a.iteration.2.p: skipped, f.a passed',
      'finish pass: all steps are done',
    ]);
  });

  it('the gate of a child is no child', () => {
    const run = new Case(
      `[[steps]]\nid = "a"\ntitle = "A"\n[[steps.children]]\nid = "b"\ntitle = "B"\ngate = { type = "human", id = "x" }
[[steps]]\nid = "z"\ntitle = "Z"\n[compose]\ngate = [{ before = "z", condition = "children(a).count(status == 'completed') >= 1" }]\n`,
    );
    run.end('f.a.gate-b', {});
    expect(run.next()).toEqual([]);
    run.end('f.a.b', {});
    expect(run.next()).toEqual(['close f.gate-z: pass, its condition holds']);
  });
});

describe('an outcome', () => {
  it.each([
    [{}, 'transient: missing_outcome'],
    [{ word: 'great' }, 'transient: invalid_outcome_value'],
    [{ word: 'pass' }, 'transient: missing_required_output_json'],
    [{ word: 'pass', output: '{' }, 'transient: invalid_required_output_json'],
    [{ word: 'pass', output: '[]' }, 'pass: passed'],
    [{ word: 'pass', failure: 'transient', output: '[]' }, 'transient: pass_with_failure_metadata'],
    [{ word: 'fail' }, 'hard: failed'],
    [{ word: 'fail', failure: 'hard', reason: 'no' }, 'hard: no'],
    [{ word: 'fail', failure: 'odd' }, 'transient: failed'],
    [{ word: 'canceled' }, 'canceled: canceled'],
  ])('of an attempt that said %j is %s', (ended, told) => {
    const { result, reason } = attemptOf(ended, true);
    expect(`${result}: ${reason}`).toBe(told);
  });

  it('of whoever closes a step without a word is that it is done', () => {
    expect([{}, { word: 'odd' }, { word: 'fail' }].map(outcomeOf)).toEqual(['pass', 'pass', 'fail']);
  });
});

describe('a condition', () => {
  const tally = (...all: Status[]): Tally => ({ all: all.length, of: (status) => all.filter((each) => each === status).length });
  const asked: Asked = {
    status: 'completed',
    output: '{"score":8.5,"a":{"b":["x"]},"word":"9"}',
    children: () => tally('completed', 'failed'),
    steps: () => tally('completed', 'completed', 'pending'),
  };
  const children = { subject: 'children', of: 'x', status: 'completed', operator: '>=', value: 2 } as const;

  it.each([
    [{ subject: 'status', operator: '==', value: 'completed' }, true],
    [{ subject: 'status', operator: '!=', value: 'completed' }, false],
    [{ subject: 'output', path: ['score'], operator: '>', value: '8' }, true],
    [{ subject: 'output', path: ['score'], operator: '>', value: '10' }, false],
    [{ subject: 'output', path: ['score'], operator: '<', value: 'x' }, false],
    [{ subject: 'output', path: ['a', 'b', '0'], operator: '==', value: 'x' }, true],
    [{ subject: 'output', path: ['none'], operator: '!=', value: 'x' }, false],
    [{ subject: 'output', path: ['constructor'], operator: '!=', value: 'x' }, false],
    [{ subject: 'complete', operator: '>=', value: 2 }, true],
    [{ subject: 'complete', operator: '>', value: 2 }, false],
    [{ ...children, quantifier: 'all' }, false],
    [{ ...children, quantifier: 'any' }, true],
    [{ ...children, quantifier: 'count' }, false],
  ] as const)('%j: %s', (until, expected) => {
    expect(holds(until, asked)).toBe(expected);
    if (until.subject === 'output') expect(holds(until, { ...asked, output: undefined })).toBe(false);
  });
});
