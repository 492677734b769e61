import { afterEach, describe, expect, it } from '@jest/globals';
import type { CityContext } from './command.js';
import { runCli } from './cli.js';
import { ApiError, TimedOutError, UnreachableError } from './errors.js';
import { list as listed, type ListFlags } from './listing.js';
import { fakeIo, type FakeIo } from './testing/io.js';
import { table } from './table.js';
import { anEvent, frame, json, problem, stream, testServer, type Handler, type TestServer } from './testing/server.js';

const bead = (n: number) => ({ id: `al-${n}`, title: `Bead ${n}`, status: 'open', issue_type: 'task', created_at: '2026-01-01T00:00:00Z' });

/** `count` beads in pages as the API makes them. */
const pages =
  (count: number, more: object = {}): Handler =>
  (request, response) => {
    const query = new URL(request.url!, 'http://x').searchParams;
    const from = Number(query.get('cursor') ?? 0);
    const to = Math.min(count, from + Number(query.get('limit')));
    const items = Array.from({ length: to - from }, (_, n) => bead(from + n + 1));
    json(response, { items, total: count, ...more, ...(to < count ? { next_cursor: String(to) } : {}) });
  };

let server: TestServer;
afterEach(() => server.close());

async function list(count: number, ...args: string[]): Promise<FakeIo> {
  server = await testServer({ '/v0/city/alpha/beads': pages(count) });
  const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
  expect(await runCli(['bead', 'list', ...args], io)).toBe(0);
  return io;
}
const lines = (io: FakeIo): number => io.stdout.split('\n').length - 1;
const limits = (): (string | null)[] => server.requests.map((r) => new URL(r.line.split(' ')[1]!, 'http://x').searchParams.get('limit'));

describe('a list', () => {
  it('shows 50 and says how many there are', async () => {
    const io = await list(120);
    expect([lines(io), limits()]).toEqual([51, ['50']]);
    expect(io.stderr).toBe('svc bead list: 50 of 120 beads shown; --limit 0 shows all\n');
  });

  it('says that there are at least so many where the service has not counted all', async () => {
    server = await testServer({ '/v0/city/alpha/beads': pages(60, { total_is_estimate: true }) });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(['bead', 'list'], io)).toBe(0);
    expect(io.stderr).toBe('svc bead list: 50 of at least 60 beads shown; --limit 0 shows all\n');
  });

  it('does not take what is in a page for all there is, where the service counts no further', async () => {
    server = await testServer({ '/v0/city/alpha/beads': pages(60, { total: 50 }) });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(['bead', 'list'], io)).toBe(0);
    expect(io.stderr).toBe('svc bead list: 50 beads shown; --limit 0 shows all\n');
  });

  const DEPS = '/v0/city/alpha/bead/al-0/deps';
  const HOOK = '/v0/city/alpha/hook';
  const run = async (...args: string[]): Promise<FakeIo> => {
    const beads = Array.from({ length: 600 }, (_, n) => bead(n + 1));
    server = await testServer({
      [DEPS]: (_request, response) => json(response, { children: beads }),
      [HOOK]: ({ url }, response) => {
        const limit = Number(new URL(url!, 'http://x').searchParams.get('limit'));
        json(response, { items: beads.slice(0, limit).map((one) => ({ bead: one, tier: 'routed' })) });
      },
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(args, io)).toBe(0);
    return io;
  };

  it.each<[string[], string]>([
    [['bead', 'children', 'al-0'], 'svc bead children: 50 of 600 children shown; --limit 0 shows all\n'],
    [['hook', 'show', '--agent', 'worker'], 'svc hook show: 50 of at least 51 beads shown; --limit 0 shows all\n'],
  ])('that has no pages says what it leaves out, and shows all when it is asked to: svc %j', async (args, told) => {
    const io = await run(...args);
    expect([lines(io), io.stderr]).toEqual([51, told]);
    await server.close();
    const all = await run(...args, '--limit', '0');
    expect([lines(all), all.stderr]).toEqual([601, '']);
  });

  it('of the children of a bead is read again while it is watched', async () => {
    server = await testServer({
      [DEPS]: (_request, response, nth) => json(response, { children: [bead(1), ...(nth > 1 ? [bead(2)] : [])] }),
      '/v0/city/alpha/events': (_request, response) => json(response, { items: [], total: 5 }, { 'x-svc-index': '5' }),
      '/v0/city/alpha/events/stream': (_request, response) => stream(response, frame('6', 'event', anEvent(6))),
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    const watching = runCli(['bead', 'children', 'al-0', '--watch', '--json'], io);
    await io.untilOut('al-2', 10_000);
    io.interrupt();
    expect([await watching, lines(io)]).toEqual([130, 2]);
  });

  it('ends while it is watched with what another try does not mend, also when nothing more happens', async () => {
    server = await testServer({
      [DEPS]: (_request, response, nth) =>
        nth === 1 ? json(response, { children: [bead(1)] }) : problem(response, 404, 'not_found: no such bead'),
      '/v0/city/alpha/events': (_request, response) => json(response, { items: [], total: 5 }, { 'x-svc-index': '5' }),
      '/v0/city/alpha/events/stream': (_request, response) => stream(response, frame('6', 'event', anEvent(6))),
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect([await runCli(['bead', 'children', 'al-0', '--watch'], io), io.stderr]).toEqual([
      3,
      'svc bead children: not_found: no such bead\n',
    ]);
  }, 10_000);

  it('says nothing when the limit is all there is', async () => {
    const io = await list(50);
    expect([lines(io), io.stderr]).toEqual([51, '']);
  });

  it('walks the pages up to the limit', async () => {
    const io = await list(2_000, '--limit', '1200', '--json');
    expect([lines(io), limits()]).toEqual([1_200, ['500', '500', '200']]);
    expect(io.stderr).toContain('1200 of 2000 beads shown');
  });

  it('walks to the end with --limit 0', async () => {
    const io = await list(1_001, '--limit', '0');
    expect([lines(io), limits(), io.stderr]).toEqual([1_002, ['500', '500', '500'], '']);
  });

  it('is one JSON object a line, unchanged, with --json', async () => {
    const io = await list(2, '--json');
    expect(io.stdout).toBe(`${JSON.stringify(bead(1))}\n${JSON.stringify(bead(2))}\n`);
  });

  it('that is empty is told on stderr, and not at all to a program', async () => {
    const io = await list(0);
    expect([io.stdout, io.stderr]).toEqual(['', expect.stringMatching(/^no open beads match/)]);
    await server.close();
    const quiet = await list(0, '--json');
    expect([quiet.stdout, quiet.stderr]).toEqual(['', '']);
  });

  it('hands its filters to the server', async () => {
    await list(1, '--metadata', 'a=b', '--metadata', 'c', '--no-blocked', '--priority', '0', '--text', 'x y', '--all');
    const query = new URL(server.requests[0]!.line.split(' ')[1]!, 'http://x').searchParams;
    expect([query.getAll('metadata'), query.get('blocked'), query.get('priority'), query.get('text'), query.get('all')]).toEqual([
      ['a=b', 'c'],
      'false',
      '0',
      'x y',
      'true',
    ]);
  });

  it('that no event tells of is read again while it is watched, and tells what has changed', async () => {
    server = await testServer({});
    const io = fakeIo();
    const context = { io, city: '', flags: { limit: '0', watch: true, json: true }, path: 'svc x' } as unknown as CityContext<ListFlags>;
    let reads = 0;
    const page = (): Promise<{ items: object[] }> => {
      if (++reads === 4) io.interrupt();
      return Promise.resolve({ items: [bead(1), ...(reads > 2 ? [bead(2)] : [])] });
    };
    const watching = listed(context, { plural: 'beads', empty: '', show: () => '', everyMs: 1, page });
    await expect(watching).rejects.toMatchObject({ exitCode: 130 });
    expect(io.stdout).toBe(`${JSON.stringify(bead(1))}\n${JSON.stringify(bead(2))}\n`);
  });

  it('goes on while it is watched when nobody answers for a while, and says so', async () => {
    server = await testServer({});
    const io = fakeIo();
    const context = { io, city: '', flags: { limit: '0', watch: true, json: true }, path: 'svc x' } as unknown as CityContext<ListFlags>;
    let reads = 0;
    const page = (): Promise<{ items: object[] }> => {
      reads += 1;
      if (reads === 2) return Promise.reject(new UnreachableError('nobody answers'));
      if (reads === 3) return Promise.reject(new ApiError('unavailable: starting', 503, 'unavailable', 1));
      if (reads === 4) return Promise.reject(new TimedOutError('no answer within 30 s'));
      if (reads === 6) return Promise.reject(new ApiError('not_found: gone', 404, 'city-not-found', undefined));
      return Promise.resolve({ items: [bead(reads)] });
    };
    const watching = listed(context, { plural: 'beads', empty: '', show: () => '', everyMs: 1, page });
    await expect(watching).rejects.toThrow('not_found: gone');
    expect(io.stdout).toBe(`${JSON.stringify(bead(1))}\n${JSON.stringify(bead(5))}\n`);
    expect(io.stderr).toBe(
      'svc x: nobody answers; trying again in 1 s\nsvc x: unavailable: starting; trying again in 1 s\nsvc x: no answer within 30 s; trying again in 1 s\nal-1 is not listed any more\nsvc x: connected again\n',
    );
  });

  it('of texts that is watched shows each new one from its first line on', async () => {
    server = await testServer({});
    const io = fakeIo();
    const context = { io, city: '', flags: { limit: '0', watch: true }, path: 'svc x' } as unknown as CityContext<ListFlags>;
    let reads = 0;
    const page = (): Promise<{ items: { id: string }[] }> => {
      if (++reads === 3) io.interrupt();
      return Promise.resolve({ items: [{ id: 'al-1' }, ...(reads > 1 ? [{ id: 'al-2' }] : [])] });
    };
    const show = (items: readonly { id: string }[]): string => items.map(({ id }) => `id: ${id}\nbody\n`).join('\n');
    await listed(context, { plural: 'messages', empty: '', show, texts: true, everyMs: 1, page }).catch(() => undefined);
    expect(io.stdout).toBe('id: al-1\nbody\n\nid: al-2\nbody\n');
  });

  it('that is watched goes on in the columns that it began with', async () => {
    server = await testServer({});
    const io = fakeIo();
    const context = { io, city: '', flags: { limit: '0', watch: true }, path: 'svc x' } as unknown as CityContext<ListFlags>;
    const rows: Record<string, string>[] = [
      { id: 'al-1', p: '1', title: 'one' },
      { id: 'al-2', p: '', title: 'two' },
    ];
    let reads = 0;
    const page = (): Promise<{ items: Record<string, string>[] }> => {
      if (++reads === 3) io.interrupt();
      return Promise.resolve({ items: reads === 1 ? rows : [...rows, { id: 'al-3', p: '', title: 'three' }] });
    };
    const show = (items: readonly Record<string, string>[]): string => table(['ID', 'P', 'TITLE'], items.map(Object.values));
    await listed(context, { plural: 'beads', empty: '', show, everyMs: 1, page }).catch(() => undefined);
    expect(io.stdout).toBe('ID    P  TITLE\nal-1  1  one\nal-2     two\nal-3     three\n');
  });

  it('ends with the refusal of a later page', async () => {
    server = await testServer({
      '/v0/city/alpha/beads': (request, response, nth) =>
        nth === 1 ? pages(900)(request, response, nth) : problem(response, 503, 'unavailable: try again'),
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(['bead', 'list', '--limit', '0'], io)).toBe(5);
    expect([io.stdout, io.stderr]).toEqual(['', 'svc bead list: unavailable: try again\n']);
  });
});
