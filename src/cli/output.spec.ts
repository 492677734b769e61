import { afterEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { pathOf } from './command.js';
import { runCli } from './cli.js';
import type { Io } from './io.js';
import { buildProgram } from './program.js';
import { fakeIo, type FakeIo } from './testing/io.js';
import { anEvent, frame, json, problem, stream, testServer, type TestServer } from './testing/server.js';

const BEADS = '/v0/city/alpha/beads';
const bead = (id: string, title = 'a title', labels: string[] = []) => ({
  id,
  title,
  labels,
  status: 'open',
  issue_type: 'task',
  created_at: '2026-03-01T09:00:00Z',
  updated_at: '2026-03-02T09:00:00Z',
  revision: 3,
});
let server: TestServer;
afterEach(() => server?.close());

async function svc(args: readonly string[], given: Parameters<typeof fakeIo>[0] = {}): Promise<{ code: number; io: FakeIo }> {
  const io = fakeIo(given);
  const code = await runCli([...args, '--api', server.url, '--city', 'alpha'], io);
  return { code, io };
}

describe('one list in every format', () => {
  const items = [bead('al-2', 'two', ['urgent']), bead('al-1', 'one')];
  const list = async (...args: string[]) => {
    server = await testServer({ [BEADS]: (_request, response) => json(response, { items, total: 2 }) });
    const { code, io } = await svc(['bead', 'list', ...args], { width: 60 });
    expect([code, io.stderr]).toEqual([0, '']);
    return io.stdout;
  };

  it.each<[string[], string]>([
    [['-o', 'name'], 'al-2\nal-1\n'],
    [['-o', 'jsonl'], items.map((item) => `${JSON.stringify(item)}\n`).join('')],
    [['--json'], items.map((item) => `${JSON.stringify(item)}\n`).join('')],
    [['-o', 'json'], `${JSON.stringify(items, null, 2)}\n`],
    [['--jq', '.[].id'], 'al-2\nal-1\n'],
    [['--jq', 'map(select(.labels | index("urgent"))) | length'], '1\n'],
    [['--jq', '.[0] | {id, title}'], '{"id":"al-2","title":"two"}\n'],
  ])('%j', async (args, expected) => {
    expect(await list(...args)).toBe(expected);
  });

  it('as names: on a terminal nothing in them is obeyed, in a pipe they are as they were written', async () => {
    const id = 'al\u001b[2J-1\n';
    server = await testServer({ [BEADS]: (_request, response) => json(response, { items: [bead(id)], total: 1 }) });
    expect((await svc(['bead', 'list', '-o', 'name'], { width: 60 })).io.stdout).toBe('al␛[2J-1\n');
    expect((await svc(['bead', 'list', '-o', 'name'])).io.stdout).toBe(`${id}\n`);
  });

  it('as jq makes it: on a terminal nothing in it is obeyed, in a pipe it is as it was written', async () => {
    const title = '\u001b]52;c;aGk=\u0007\u001b[2Jone\ttwo\nthree';
    const page = { items: [bead('al-1', title)] };
    server = await testServer({ [BEADS]: (_request, response) => json(response, page) });
    const printed = async (width?: number): Promise<string> => (await svc(['bead', 'list', '--jq', '.[].title'], { width })).io.stdout;
    expect(await printed(60)).toBe('␛]52;c;aGk=␇␛[2Jone\ttwo\nthree\n');
    expect(await printed()).toBe(`${title}\n`);
    const failed = await svc(['bead', 'list', '--jq', '.[].title | error'], { width: 60 });
    // oxlint-disable-next-line no-control-regex -- none of them is what is looked for
    expect(failed.io.stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/);
  });

  it('as YAML, and as a table with all of its columns, which nothing cuts', async () => {
    expect(await list('-o', 'yaml')).toMatch(/^- id: al-2\n {2}title: two\n {2}labels:\n {4}- urgent\n/);
    await server.close();
    const [head, first] = (await list('-o', 'wide')).split('\n');
    expect(head).toMatch(/^ID +STATUS +TYPE +AGE +LABELS +UPDATED +REVISION +TITLE$/);
    expect(first).toMatch(/urgent +2026-03-02T09:00:00Z +3 +two$/);
  });
});

describe('what is said beside a list', () => {
  const more = { items: [bead('al-2', 'two')], total: 2, next_cursor: 'x' };
  const said = async (args: string[], given: Parameters<typeof fakeIo>[0] & { page?: FakeIo['page'] } = {}): Promise<string> => {
    server = await testServer({ [BEADS]: (_request, response) => json(response, more) });
    let all = '';
    const io = { ...fakeIo(given), out: async (text: string) => void (all += text), err: (text: string) => void (all += text) };
    await runCli(['bead', 'list', '--limit', '1', ...args, '--api', server.url, '--city', 'alpha'], io);
    return all;
  };

  it('follows its end: a terminal shows both', async () => {
    const note = 'svc bead list: 1 of 2 beads shown; --limit 0 shows all\n';
    expect(await said(['-o', 'json'])).toMatch(new RegExp(`^\\[\n[^]*\n\\]\n${note}$`));
    await server.close();
    const page = () => Promise.resolve();
    expect(await said([], { width: 60, height: 24, page })).toMatch(new RegExp(`two\n${note}$`));
  });
});

describe('what is not a list', () => {
  const show = async (...args: string[]) => {
    server = await testServer({
      [`${BEADS.replace('beads', 'convoy')}/al-9/check`]: (_request, response) => json(response, { closed: 1, total: 2, complete: false }),
    });
    return (await svc(['convoy', 'check', 'al-9', ...args])).io.stdout;
  };

  it.each<[string[], string]>([
    [['-o', 'json'], '{\n  "closed": 1,\n  "total": 2,\n  "complete": false\n}\n'],
    [['-o', 'yaml'], 'closed: 1\ntotal: 2\ncomplete: false\n'],
    [['--jq', '.total - .closed'], '1\n'],
    [['-o', 'table'], '1 of 2 closed\n'],
  ])('%j', async (args, expected) => {
    expect(await show(...args)).toBe(expected);
  });
});

it('an empty list is one, and a wrong expression is the command line that is wrong', async () => {
  server = await testServer({ [BEADS]: (_request, response) => json(response, { items: [], total: 0 }) });
  expect((await svc(['bead', 'list', '-o', 'json'])).io.stdout).toBe('[]\n');
  expect((await svc(['bead', 'list', '-o', 'yaml'])).io.stdout).toBe('[]\n');
  expect((await svc(['bead', 'list', '--jq', 'length'])).io.stdout).toBe('0\n');
  const wrong = await svc(['bead', 'list', '--jq', '.[']);
  expect([wrong.code, wrong.io.stderr]).toEqual([2, expect.stringMatching(/^svc bead list: --jq: .*syntax error/)]);
});

describe('a jq expression of a command that changes something', () => {
  const create = async (expression: string) => {
    server = await testServer({ [BEADS]: (_request, response) => json(response, bead('al-1')) });
    const { code, io } = await svc(['bead', 'create', 'one', '--jq', expression]);
    return { code, said: io.stdout + io.stderr, requests: server.requests.length };
  };

  it.each(['.[', 'nothing', '$id', '.id)', '.id # (\n|', '# all', ''])('is refused before anything is sent: %s', async (expression) => {
    const { code, said, requests } = await create(expression);
    expect([code, requests]).toEqual([2, 0]);
    expect(said).toMatch(/^svc bead create: --jq: error: \S.*\n$/);
  });

  it.each(['.id.x', '.id | error("no")'])('says that the change is done when it fails over the answer: %s', async (expression) => {
    const { code, said, requests } = await create(expression);
    expect([code, requests]).toEqual([1, 1]);
    expect(said).toMatch(/^svc bead create: --jq: .*; the command itself was carried out\n$/);
  });

  it.each([
    ['.id # the new one', 'al-1\n'],
    ['def it: .id; it', 'al-1\n'],
  ])('is what it was: %j', async (expression, said) => {
    expect(await create(expression)).toEqual({ code: 0, said, requests: 1 });
  });
});

it('a list that is watched tells what is new or changed, and what is gone', async () => {
  const states = [[bead('al-1\u001b[2J')], [bead('al-1\u001b[2J'), bead('al-2')], [bead('al-2', 'another title')]];
  let wake = (): void => undefined;
  server = await testServer({
    [BEADS]: (_request, response, nth) => json(response, { items: states[Math.min(nth, 3) - 1], total: 1 }),
    '/v0/city/alpha/events': (_request, response) => json(response, { items: [], total: 0 }, { 'x-svc-index': '5' }),
    '/v0/city/alpha/events/stream': (_request, response) => {
      stream(response, frame('6', 'event', anEvent(6)));
      wake = () => response.write(frame('7', 'event', anEvent(7)));
    },
  });
  const io = fakeIo();
  const watching = runCli(['bead', 'list', '-w', '-o', 'jsonl', '--api', server.url, '--city', 'alpha'], io);
  await io.untilOut('"id":"al-2"');
  wake();
  await io.untilOut('another title');
  io.interrupt();
  expect(await watching).toBe(130);
  const told = io.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; title: string });
  expect(told.map(({ id, title }) => [id, title])).toEqual([
    ['al-1\u001b[2J', 'a title'],
    ['al-2', 'a title'],
    ['al-2', 'another title'],
  ]);
  expect(io.stderr).toBe('al-1 is not listed any more\n');
});

it('events are lines for people on a terminal, or who ask for them, and JSON for everything else', async () => {
  const event = anEvent(1, { ts: '2026-03-01T09:16:54.1Z', type: 'bead.closed', subject: 'al-3', actor: 'mayor', message: 'it is built' });
  server = await testServer({ '/v0/city/alpha/events': (_request, response) => json(response, { items: [event], total: 1 }) });
  const onTerminal = { width: 120 };
  const line = /^09:16:54 {2}bead\.closed +al-3 +mayor +it is built\n$/;
  expect((await svc(['events'], onTerminal)).io.stdout).toMatch(line);
  // As for `| less`: who asks for them gets them.
  expect((await svc(['events', '-o', 'table'])).io.stdout).toMatch(line);
  for (const { args, given } of [
    { args: ['events'], given: {} },
    { args: ['events', '-o', 'jsonl'], given: onTerminal },
    { args: ['events', '--json'], given: onTerminal },
  ])
    expect((await svc(args, given)).io.stdout).toBe(`${JSON.stringify(event)}\n`);
});

it.each([['json'], ['yaml']])('a list that was refused is no empty one: -o %s', async (format) => {
  server = await testServer({});
  const { code, io } = await svc(['bead', 'list', '-o', format]);
  expect([code, io.stdout]).toEqual([3, '']);
  expect((await svc(['bead', 'list', '--jq', '.'])).io.stdout).toBe('');
});

describe('the exit code', () => {
  it.each([
    [404, 3],
    [403, 4],
    [409, 4],
    [503, 5],
  ])('of %i is %i', async (status, code) => {
    server = await testServer({
      [`${BEADS.replace('beads', 'bead')}/al-1`]: (_request, response) => problem(response, status, 'x: refused'),
    });
    expect((await svc(['bead', 'show', 'al-1'])).code).toBe(code);
  });

  it('of what nobody answers is 5, and of a wrong command line 2', async () => {
    server = await testServer({});
    expect((await svc(['bead', 'list', '--limit', 'x'])).code).toBe(2);
    expect((await svc(['bead', 'nothing'])).code).toBe(2);
    await server.close();
    expect((await svc(['bead', 'list'])).code).toBe(5);
  });
});

it('every list has the formats, jq and --watch', () => {
  const leaves = (command: Command): Command[] => (command.commands.length === 0 ? [command] : command.commands.flatMap(leaves));
  const lists = leaves(buildProgram(fakeIo())).filter((command) => command.name() === 'list');
  const lacking = (flag: string): string[] => lists.filter(({ options }) => !options.some(({ long }) => long === flag)).map(pathOf);
  expect(lists.length).toBeGreaterThan(15);
  expect([lacking('--output'), lacking('--jq')]).toEqual([[], []]);
  // Contexts are of this machine.
  expect(lacking('--watch')).toEqual(['svc context list']);
});

describe('what is missing', () => {
  const typed = (text: string) =>
    async function* () {
      yield text;
    };
  const cities = { items: [{ name: 'alpha' }, { name: 'beta' }], total: 2 };

  it.each([['2'], ['beta']])('is asked of a person who is there: the city, answered with %s', async (answer) => {
    server = await testServer({
      '/v0/cities': (_request, response) => json(response, cities),
      '/v0/city/beta/beads': (_request, response) => json(response, { items: [], total: 0 }),
    });
    const io = fakeIo({ lines: typed(answer) });
    expect(await runCli(['bead', 'list', '--api', server.url], io)).toBe(0);
    expect(io.stderr).toMatch(/^which city\?\n {2}1\) alpha\n {2}2\) beta\nnumber or name: no open beads/);
  });

  it('is an error of the command line when it is none of them, or nothing is typed, and Ctrl-C is Ctrl-C', async () => {
    server = await testServer({ '/v0/cities': (_request, response) => json(response, cities) });
    const asked = async (lines: Io['lines'], io = fakeIo({ lines })) => [
      await runCli(['bead', 'list', '--api', server.url], io),
      io.stderr.split('number or name: ')[1],
    ];
    expect(await asked(typed('9'))).toEqual([2, 'svc bead list: there is no city 9: see `svc city list`\n']);
    expect(await asked(async function* () {})).toEqual([
      2,
      '\nsvc bead list: which city? name it with --city or SVC_CITY; `svc city list` lists them\n',
    ]);
    const io = fakeIo({
      lines: async function* () {
        io.interrupt();
        yield* [];
      },
    });
    expect(await asked(undefined, io)).toEqual([130, '\n']);
  });

  it('is an error where nobody is', async () => {
    server = await testServer({});
    const io = fakeIo();
    expect(await runCli(['bead', 'list', '--api', server.url], io)).toBe(2);
    expect([io.stderr, server.requests]).toEqual([expect.stringContaining('which city?'), []]);
  });
});

it('asks the next replica when one does not answer', async () => {
  const gone = await testServer({});
  await gone.close();
  server = await testServer({ [BEADS]: (_request, response) => json(response, { items: [], total: 0 }) });
  const io = fakeIo({ env: { SVC_API_URL: `${gone.url}, ${server.url}`, SVC_CITY: 'alpha' } });
  expect([await runCli(['bead', 'list'], io), server.requests.length]).toEqual([0, 1]);
});
