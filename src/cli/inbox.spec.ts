import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from './cli.js';
import { fakeIo } from './testing/io.js';
import { json, testServer, type TestServer } from './testing/server.js';

let server: TestServer;
afterEach(() => server.close());

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
});
