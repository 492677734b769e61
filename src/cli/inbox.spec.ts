import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer, type TestServer } from './testing/server.js';

let server: TestServer;
afterEach(async () => {
  jest.restoreAllMocks();
  await server.close();
});

const entry = (id: string) => ({ kind: 'bead', city: 'alpha', id, title: 'Decide', since: '2026-01-02T00:00:00Z' });
const rejected = [{ city: 'beta', since: '2026-01-04T00:00:00Z', error: 'city.toml:3: no\u001b[2J' }];

describe('svc inbox', () => {
  it('says beside what waits which cities have files that cannot be used', async () => {
    server = await testServer({
      '/v0/inbox': (request, response) =>
        json(
          response,
          request.url!.includes('cursor=')
            ? { event_cursor: '', items: [entry('al-2')], total: 2, counts: { bead: 2, mail: 0 } }
            : { event_cursor: '', items: [entry('al-1')], total: 2, counts: { bead: 2, mail: 0 }, next_cursor: 'next', rejected },
        ),
    });
    const io = fakeIo();
    expect(await runCli(['inbox', '--api', server.url], io)).toBe(0);
    expect(io.stdout).toMatch(/al-1[^]*al-2/);
    expect(io.stderr).toContain('beta: its files cannot be used since 2026-01-04T00:00:00Z');
    expect(io.stderr).toContain(': city.toml:3: no');
    expect(io.stderr).toContain('; see `svc config validate --city beta`\n');
    expect(io.stderr).not.toContain('\u001b');
  });

  it('says it also where nothing else waits, and beside JSON', async () => {
    server = await testServer({
      '/v0/inbox': (_request, response) =>
        json(response, { event_cursor: '', items: [], total: 0, counts: { bead: 0, mail: 0 }, rejected }),
    });
    for (const flags of [[], ['--json']]) {
      const io = fakeIo();
      expect(await runCli(['inbox', '--api', server.url, ...flags], io)).toBe(0);
      expect([io.stdout, io.stderr]).toEqual(['', expect.stringContaining('beta: its files cannot be used since')]);
    }
  });

  it.each<[string, string[], number, string]>([
    ['in all cities', [], 0, '3 questions wait for an answer: see `svc session pending --all-cities`\n'],
    ['in the cities that were named', ['--in', 'beta'], 0, '1 question waits for an answer: see `svc session pending --all-cities`\n'],
    ['beside what waits', [], 1, '3 questions wait for an answer: see `svc session pending --all-cities`\n'],
    ['where there is none', ['--in', 'gamma'], 0, ''],
  ])('says how many questions wait %s', async (_what, flags, entries, expected) => {
    const items = ['alpha', 'beta', 'gamma'].map((name, i) => ({ name, pending: 2 - i }));
    server = await testServer({
      '/v0/inbox': (_request, response) => json(response, { items: entries === 0 ? [] : [entry('al-1')], total: entries }),
      '/v0/overview': (_request, response) => json(response, { items, total: 3, totals: { pending: 3 } }),
    });
    const io = fakeIo();
    expect(await runCli(['inbox', '--api', server.url, ...flags], io)).toBe(0);
    expect(io.stderr).toBe(`${entries === 0 ? 'no beads and no mail wait for people\n' : ''}${expected}`);
  });

  const city = (name: string, running: boolean): object => ({ name, path: `/${name}`, running });
  const three = [city('alpha', true), city('beta', false), city('gamma', false)];

  it.each<[string, object, string[], string]>([
    [
      'those that do not run',
      { items: three },
      [],
      '2 cities do not run, and nothing of theirs is here: beta, gamma; see `svc city list`\n',
    ],
    [
      'one that was asked for',
      { items: three },
      ['--in', 'alpha,beta'],
      '1 city does not run, and nothing of it is here: beta; see `svc city list`\n',
    ],
    ['none', { items: three }, ['--in', 'alpha'], ''],
    [
      'the first of many',
      { items: Array.from({ length: 7 }, (_, i) => city(`c${i}`, false)), next_cursor: 'c6' },
      [],
      'at least 7 cities do not run, and nothing of theirs is here: c0, c1, c2, c3, c4 and 2 more; see `svc city list`\n',
    ],
  ])('says which cities it leaves out, as `svc search` does: %s', async (_what, cities, flags, expected) => {
    server = await testServer({
      '/v0/inbox': (_request, response) => json(response, { items: [entry('al-1')], total: 1 }),
      '/v0/search': (_request, response) => json(response, { items: [{ kind: 'bead', city: 'alpha', id: 'al-1' }], total: 1 }),
      '/v0/cities': (_request, response) => json(response, { total: 7, ...cities }),
    });
    for (const command of [['inbox'], ['search', 'login']]) {
      const io = fakeIo();
      expect(await runCli([...command, '--api', server.url, ...flags], io)).toBe(0);
      expect(io.stderr).toBe(expected);
    }
  });

  it('shows what is found before it asks for that, and waits for it no longer than a word more is worth', async () => {
    const { timeout } = AbortSignal;
    const limits: number[] = [];
    const late = new AbortController();
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      limits.push(ms);
      return ms === 30_000 ? timeout.call(AbortSignal, ms) : late.signal;
    });
    const io = fakeIo();
    let shown = '';
    server = await testServer({
      '/v0/search': (_request, response) => json(response, { items: [{ kind: 'bead', city: 'alpha', id: 'al-1' }], total: 1 }),
      '/v0/cities': () => {
        shown = io.stdout;
        late.abort(new DOMException('late', 'TimeoutError'));
      },
    });
    expect(await runCli(['search', 'login', '--api', server.url], io)).toBe(0);
    expect([shown, io.stderr]).toEqual([expect.stringContaining('al-1'), 'which cities do not run is not known: see `svc city list`\n']);
    expect(limits).toEqual([30_000, 2_000]);
  });
});
