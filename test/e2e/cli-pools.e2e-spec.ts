import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { killSvc, svc } from '../support/cli.js';
import { eventually } from '../support/sse.js';
import { lookOften } from '../support/stack-timings.js';

/** What an operator sees of pools: members that cannot be started, and all that run. */
let stack: Stack;

const env = (): Record<string, string> => ({ SVC_API_URL: stack.urls[0]!, SVC_CITY: 'port' });
async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args, { env: env() });
  expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
  return stdout;
}
const json = async (...args: string[]): Promise<any[]> =>
  (await ok(...args, '--json'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const agent = async (name: string): Promise<any> => (await json('agent', 'show', name))[0];
async function sling(target: string): Promise<void> {
  const bead = (await ok('bead', 'create', 'work')).trim();
  await ok('sling', target, bead);
}
async function append(name: string, text: string): Promise<void> {
  await appendFile(join(stack.citiesRoot, 'port', name), text);
  await ok('config', 'reload');
}

beforeAll(async () => {
  stack = await startStack({ apis: 1, workers: 1 });
  lookOften(stack);
  await ok('city', 'create', 'port', '--provider', 'loopback');
  await writeFile(join(stack.citiesRoot, 'port', 'prompt.md'), 'Work.');
});
afterAll(async () => {
  killSvc();
  await stack?.stop();
});

describe('a member of a pool that cannot be started', () => {
  it('is told everywhere, and rests no longer once the command is mended: all places are filled', async () => {
    await ok('provider', 'create', 'mine', '--base', 'loopback', '--command', 'no-such-agent');
    await append('pack.toml', '\n[[agent]]\nname = "hand"\nprovider = "mine"\nprompt_template = "prompt.md"\nmax_active_sessions = 3\n');
    await sling('hand');
    const failed = await eventually(async () => {
      const one = await agent('hand-1');
      return one.rest?.reason === 'failed-create' ? one : undefined;
    });
    const { session_id: id } = failed.rest;
    expect(failed.rest).toEqual({
      reason: 'failed-create',
      ended_by: ['time', 'configuration', 'wake'],
      until: expect.stringMatching(/Z$/),
      detail: expect.stringContaining('no-such-agent'),
      session_id: expect.stringMatching(/^po-\d+$/),
    });
    const line = `rests until \\d\\d:\\d\\d:\\d\\dZ \\(\\S+\\), failed-create; ended by a changed configuration, svc session wake ${id}`;
    expect(await ok('agent', 'list')).toMatch(new RegExp(`^hand-1 +stopped.*${line}: .*no-such-agent`, 'm'));
    expect(await ok('agent', 'show', 'hand-1')).toMatch(new RegExp(`^rests: +${line.slice('rests '.length)}: .*no-such-agent`, 'm'));
    expect(await ok('session', 'show', id)).toMatch(new RegExp(`^rests: +${line.slice('rests '.length)}$`, 'm'));
    expect(await ok('city', 'status')).toMatch(new RegExp(`^resting: +\\d+ session(.*\\n)+ {2}hand-1 ${line}: .*no-such-agent`, 'm'));
    const [status] = await json('city', 'status');
    expect(status.resting.items).toContainEqual(expect.objectContaining({ session_id: id, name: 'hand-1', reason: 'failed-create' }));

    await ok('provider', 'update', 'mine', '--command', 'svc-loopback-agent');
    await sling('hand');
    await sling('hand');
    const running = await eventually(async () => {
      const members = (await json('agent', 'list', '--pool', 'hand')).filter((one) => one.running);
      return members.length === 3 ? members : undefined;
    });
    expect(running.filter(({ rest }) => rest !== undefined)).toEqual([]);
    expect((await json('city', 'status'))[0].resting).toBeUndefined();
  });

  it('is the reason for which the others of its pool wait for a while', async () => {
    await ok('provider', 'create', 'theirs', '--base', 'loopback', '--command', 'no-such-agent');
    await append('pack.toml', '\n[[agent]]\nname = "foot"\nprovider = "theirs"\nprompt_template = "prompt.md"\nmax_active_sessions = 3\n');
    await sling('foot');
    await eventually(async () => (await agent('foot-1')).rest?.reason === 'failed-create');
    // Nobody has the second place: it waits for the pause of its pool.
    expect((await agent('foot-2')).rest).toMatchObject({
      reason: 'pool-failing',
      ended_by: ['time', 'configuration'],
      detail: expect.stringMatching(/^foot-1 could not be started: .*no-such-agent/),
    });
  });
});

describe('a pool whose members leave the work where it is', () => {
  it('is told of while it rests for that, everywhere; what is new starts it at once, and so does a changed command', async () => {
    const script = 'start_command = "true"\nprompt_template = "prompt.md"\nmax_active_sessions = 2\n';
    await append('pack.toml', `\n[[agent]]\nname = "lazy"\n${script}`);
    await sling('lazy');
    const rested = await eventually(async () => {
      const { rest } = await agent('lazy-1');
      return rest?.reason === 'empty-runs' ? rest : undefined;
    });
    expect(rested).toEqual({
      reason: 'empty-runs',
      ended_by: ['time', 'work', 'configuration'],
      until: expect.stringMatching(/Z$/),
      detail: 'its last run took none of the work that was there',
    });
    const line =
      'rests until \\d\\d:\\d\\d:\\d\\dZ \\(\\S+\\), empty-runs; ended by work that is new or slung again, a changed configuration: its last run took none';
    expect(await ok('agent', 'list')).toMatch(new RegExp(`^lazy-1 +stopped.*${line}`, 'm'));
    expect(await ok('agent', 'show', 'lazy-1')).toMatch(new RegExp(`^rests: +${line.slice('rests '.length)}`, 'm'));
    expect(await ok('city', 'status')).toMatch(new RegExp(`^resting: +(.*, )?1 pool(.*\\n)+ {2}lazy ${line}`, 'm'));

    await sling('lazy');
    await eventually(async () => (await agent('lazy-1')).rest?.detail?.includes('its last 2 runs'));

    const pack = join(stack.citiesRoot, 'port', 'pack.toml');
    await writeFile(pack, (await readFile(pack, 'utf8')).replace(script, script.replace('true', 'sleep 600')));
    await ok('config', 'reload');
    await eventually(async () => (await agent('lazy-1')).running);
    expect((await json('city', 'status'))[0].resting?.items.filter(({ name }: any) => name === 'lazy') ?? []).toEqual([]);
  });
});

describe('a member of a pool without a bound', () => {
  it('is shown by the name that the status of the city tells, as long as it rests', async () => {
    const script = 'start_command = "true"\nprompt_template = "prompt.md"\nmax_active_sessions = -1\n';
    await append('pack.toml', `\n[[agent]]\nname = "wide"\n${script}`);
    await ok('bead', 'create', 'work', '--metadata', 'gc.routed_to=wide-1');
    const { name } = await eventually(async () =>
      (await json('city', 'status'))[0].resting?.items.find((one: any) => one.reason === 'empty-runs' && /^wide-/.test(one.name)),
    );
    expect(await agent(name)).toMatchObject({ name, pool: 'wide', running: false, rest: { reason: 'empty-runs' } });
    expect((await svc(['agent', 'show', 'wide-7'], { env: env() })).code).not.toBe(0);
  });
});

describe('lists of agents and rigs', () => {
  it('have every member that runs, whatever the bound of its pool is by now, and agents whose sessions have other names', async () => {
    await ok('rig', 'create', 'web');
    const pool = (most: number): string =>
      `\n[[agent]]\nname = "crew"\ndir = "web"\nprovider = "loopback"\nprompt_template = "prompt.md"\nmax_active_sessions = ${most}\n`;
    const guard = '\n[[agent]]\nname = "guard"\ndir = "web"\nprovider = "loopback"\nprompt_template = "prompt.md"\n';
    const named = '\n[[named_session]]\nname = "night"\ntemplate = "guard"\ndir = "web"\nmode = "always"\n';
    const before = await readFile(join(stack.citiesRoot, 'port', 'pack.toml'), 'utf8');
    const write = async (text: string): Promise<void> => {
      await writeFile(join(stack.citiesRoot, 'port', 'pack.toml'), before + text);
      await ok('config', 'reload');
    };
    const running = async (): Promise<string[]> =>
      (await json('agent', 'list', '--rig', 'web')).filter((one) => one.running).map(({ name }) => name as string);
    const rig = async (): Promise<any> => (await json('rig', 'list')).find(({ name }) => name === 'web');

    await write(pool(3) + guard + named);
    for (let n = 0; n < 3; n++) await ok('bead', 'create', 'work', '--rig', 'web', '--assignee', `web/crew-${n + 1}`);
    const all = ['web/crew-1', 'web/crew-2', 'web/crew-3', 'web/guard'];
    await eventually(async () => (await running()).length === all.length);
    expect(await running()).toEqual(all);
    const lines = (await json('agent', 'list', '--rig', 'web')).length;
    expect(await rig()).toMatchObject({ running_count: 4, agent_count: lines });
    expect(await agent('web/crew')).toMatchObject({ running: true });

    // Work that is theirs keeps them.
    await write(pool(1) + guard + named);
    expect((await running()).sort()).toEqual([...new Set([...all, 'web/crew'])].sort());
    expect((await agent('web/crew-3')).pool).toBe('web/crew');
    expect(await rig()).toMatchObject({ running_count: 4 });
  });
});
