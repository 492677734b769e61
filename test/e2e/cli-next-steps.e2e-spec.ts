import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startStack, type Stack } from '../support/app.js';
import { svc, type CliRun } from '../support/cli.js';
import { eventually } from '../support/sse.js';

/** What somebody is told who has mistyped or left out something of formulas, runs, orders and keys: what to do next. */
let stack: Stack;

const run = (...args: string[]): Promise<CliRun> => svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
/** What it said on stderr. @throws unless it failed */
async function refused(...args: string[]): Promise<string> {
  const { code, stderr } = await run(...args);
  // Nothing of the kind, or refused; `exit-codes.ts` has the rest.
  expect([args, [1, 3, 4].includes(code!)]).toEqual([args, true]);
  return stderr;
}
async function put(path: string, text: string): Promise<void> {
  const at = join(stack.citiesRoot, 'alpha', path);
  await mkdir(dirname(at), { recursive: true });
  await writeFile(at, text);
}

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1 });
  expect((await run('city', 'create', 'alpha', '--provider', 'loopback')).code).toBe(0);
  const steps = 'description = "Says hello to somebody, at a length that no table of eighty columns has a place for"\n';
  await put(
    'formulas/greet.toml',
    `formula = "greet"\n${steps}[vars]\nwho = { required = true }\n[[steps]]\nid = "say"\ntitle = "Greet {{who}}"\n`,
  );
  await put('orders/deploy.toml', '[order]\nexec = "echo deploy $SVC_VAR_ref"\ntrigger = "manual"\nparams.ref.required = true\n');
  await put('orders/morning.toml', '[order]\nformula = "greet"\npool = "mayor"\ntrigger = "manual"\n');
  await put('orders/late.toml', '[order]\nexec = "true"\ntrigger = "cron"\nschedule = "0 1 * * *"\nenabled = false\n');
  await ok('config', 'reload');
});
afterAll(() => stack?.stop());

describe('svc formula, sling and molecule', () => {
  it('say which formulas there are, and how a value is given', async () => {
    for (const args of [
      ['formula', 'show'],
      ['formula', 'preview'],
      ['molecule', 'create'],
    ])
      expect(await refused(...args, 'gret')).toMatch(/not_found: [^;]*gret[^;]*; did you mean greet\?\n$/);
    // These are about what is written in the city alone, and the one that was meant may be of a pack.
    for (const verb of ['source', 'delete'])
      expect(await refused('formula', verb, 'gret')).toMatch(/not_found: [^;]*gret[^;]*; see `svc formula list`\n$/);
    expect(await refused('sling', 'mayor', '--formula', 'gret')).toMatch(/formula gret not found; did you mean greet\?\n$/);
    const value = /vars\.who: is required; give a value with --var <name=value>; `svc formula show greet` lists the variables\n$/;
    for (const args of [
      ['formula', 'preview', 'greet'],
      ['molecule', 'create', 'greet'],
      ['sling', 'mayor', '--formula', 'greet'],
    ])
      expect(await refused(...args)).toMatch(value);
    expect(await refused('sling', 'nobody', '--formula', 'greet', '--var', 'who=x')).toMatch(/nobody not found; see `svc agent list`\n$/);
    expect(await refused('sling', 'mayor', 'greet')).toMatch(
      /bead greet not found; see `svc bead list`; a formula is launched with `svc sling mayor --formula greet`\n$/,
    );
    expect(await refused('sling', 'mayor', 'al-99')).toMatch(/bead al-99 not found; see `svc bead list`\n$/);
  });

  it('say which run a bead has already, without the members of the answer', async () => {
    const bead = (await ok('bead', 'create', 'Greet')).trim();
    const slung = await ok('sling', 'mayor', '--formula', 'greet', '--on', bead, '--var', 'who=x');
    const [, id] = /\(run (al-\d+)\)/.exec(slung)!;
    expect(await refused('sling', 'mayor', '--formula', 'greet', '--on', bead, '--var', 'who=y')).toBe(
      `svc sling: conflict: source bead ${bead} already has live workflow(s): ${id} (cancel them, or pass force to end them); see \`svc bead show ${bead}\`\n`,
    );
  });

  it('list into a file what they have, whole', async () => {
    expect(await ok('formula', 'list')).toMatch(/at a length that no table of eighty columns has a place for$/m);
  });
});

describe('svc run', () => {
  const two = (steps: string): string => `formula = "gated"\n[requires]\nformula_compiler = ">=2.0.0"\n${steps}`;
  it('says what opens a gate that the run has come to, whatever kind it is', async () => {
    const gate = (id: string, what: string): string => `[[steps]]\nid = "${id}"\ntitle = "${id}"\ngate = { ${what} }\n`;
    await put(
      'formulas/gated.toml',
      two(`${gate('publish', 'type = "human", id = "yes"')}${gate('rest', 'type = "timer", timeout = "24h"')}`),
    );
    await ok('config', 'reload');
    const [, id] = /\(run (al-\d+)\)/.exec(await ok('sling', 'mayor', '--formula', 'gated'))!;
    const gates = [...(await ok('run', 'show', id!)).matchAll(/○ (al-\d+) \[pending, a gate\] .* \(`svc bead close \1` opens it\)$/gm)];
    expect(gates).toHaveLength(2);
    for (const [, bead] of gates) await ok('bead', 'close', bead!);
    const after = await ok('run', 'show', id!);
    expect(after).toMatch(/✓ .*a gate/);
    expect(after).not.toContain('opens it');
  });
});

describe('a step with retry', () => {
  it('is told why it failed where its attempt did not say how it ended, and passes when that says so', async () => {
    const steps = '[[steps]]\nid = "try"\ntitle = "Try"\nretry = { max_attempts = 1 }\n';
    await put('formulas/again.toml', `formula = "again"\n[requires]\nformula_compiler = ">=2.0.0"\n${steps}`);
    await ok('config', 'reload');
    const begun = async (): Promise<[run: string, attempt: string]> => {
      const [, id] = /\(run (al-\d+)\)/.exec(await ok('sling', 'mayor', '--formula', 'again'))!;
      return [id!, /(al-\d+) \[pending\]/.exec(await ok('run', 'show', id!))![1]!];
    };
    const [silent, first] = await begun();
    await ok('bead', 'close', first);
    expect(await run('run', 'show', silent)).toMatchObject({
      stdout: expect.stringMatching(/✗ al-\d+ \[failed\] Try \(missing_outcome\)$/m),
      stderr: 'a step with `retry` has passed when its attempt is closed with `svc bead close <id> --outcome pass`\n',
    });
    expect(await refused('run', 'watch', silent)).toMatch(new RegExp(`failed; see \`svc run show ${silent}\`\\n$`));
    const [said, second] = await begun();
    expect(await ok('bead', 'close', second, '--outcome', 'pass', '--reason', 'green')).toBe(`${second} is closed\n`);
    expect(await ok('run', 'show', said)).toMatch(/^status: +completed$/m);
    expect(await ok('bead', 'show', second)).toMatch(/close_reason: green\n +gc\..*\n[^]*gc\.outcome: pass/);
    const [, third] = await begun();
    await ok('bead', 'close', third, '--outcome', 'fail', '--reason', 'red');
    expect(await ok('events', '--type', 'bead.closed')).toContain(`"subject":"${third}"`);
  });
});

describe('svc order', () => {
  it('says which orders there are, what enables one, and how a value is given', async () => {
    for (const name of ['show', 'next', 'history', 'run', 'enable', 'disable'])
      expect(await refused('order', name, 'deplyo')).toMatch(/not_found: [^;]*deplyo[^;]*; did you mean deploy\?\n$/);
    const enable = '`svc order enable late` lets it come';
    expect(await refused('order', 'run', 'late')).toBe(`svc order run: conflict: order "late" is disabled; ${enable}\n`);
    expect(await run('order', 'next', 'late')).toEqual({ code: 0, stdout: '', stderr: `late is disabled; ${enable}\n` });
    await ok('order', 'enable', 'late');
    expect(await ok('order', 'next', 'late')).toMatch(/^\S+T01:00:00/);
    expect(await run('order', 'next', 'deploy')).toMatchObject({
      stderr: 'deploy comes at no time that is known: its trigger is manual\n',
    });
    expect(await refused('order', 'run', 'deploy')).toMatch(/missing required param\(s\): ref; give it with --var <name=value>\n$/);
    expect(await ok('order', 'run', 'deploy', '--var', 'ref=v1', '--wait')).toBe('deploy v1\n');
  });

  it('that launches a formula says which run it has begun, at once and afterwards', async () => {
    const [, id] = /^run (al-\d+) has begun: see `svc run watch \1`\n$/.exec(
      await ok('order', 'run', 'morning', '--var', 'who=x', '--wait'),
    )!;
    expect(await ok('run', 'show', id!)).toContain('Greet x');
    const history = await ok('order', 'history', 'morning');
    expect(history).toMatch(new RegExp(`^firing-.* run ${id}$`, 'm'));
    expect(await ok('order', 'history', /firing-\w+/.exec(history)![0])).toMatch(new RegExp(`^run: +${id}$`, 'm'));
  });

  it('says that nothing is enabled, in place of an empty table', async () => {
    await eventually(async () => (await run('order', 'check')).stdout.includes('late'));
    for (const name of ['late', 'deploy', 'morning']) await ok('order', 'disable', name);
    expect(await run('order', 'check')).toEqual({ code: 1, stdout: '', stderr: 'svc order check: no order is enabled\n' });
  });
});

describe('svc key and svc audit', () => {
  it('say that there are none, that nobody is asked for one, and what an id is', async () => {
    expect(await run('key', 'list')).toEqual({ code: 0, stdout: '', stderr: 'no keys; make one with `svc key create`\n' });
    const { stdout, stderr } = await run('key', 'create', '--name', 'bob', '--scope', 'read');
    expect(stdout).toMatch(/^svc_/);
    expect(stderr).toMatch(/it is not shown again:\nwarning: the server asks nobody for a key: start it with SVC_AUTH=keys\n$/);
    for (const id of ['alice', '0123456789ab'])
      for (const name of ['rotate', 'revoke']) expect(await refused('key', name, id)).toMatch(/; see `svc key list`\n$/);
  });

  it('tell a filter that nothing matches from a record that is empty', async () => {
    expect(await run('audit', '--operation', 'create-baed')).toMatchObject({ code: 0, stderr: 'no records match\n' });
  });
});
