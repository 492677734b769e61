import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { anEvent, frame, json, stream, testServer, type TestServer } from '../testing/server.js';

const CITY = '/v0/city/alpha';
const bead = (id: string, status = 'open') => ({ id, title: id, status, issue_type: 'task', created_at: '2026-01-01T00:00:00Z' });

describe('a convoy that is watched', () => {
  let server: TestServer;
  afterEach(() => server.close());

  it('is drawn over itself also with a title that is longer than the terminal is wide', async () => {
    const head = (status: string, closed: number) => ({ convoy: { ...bead('al-1', status), title: 'A title of many words' }, closed });
    server = await testServer({
      [`${CITY}/events`]: (_request, response) => json(response, { items: [] }, { 'x-svc-index': '5' }),
      [`${CITY}/events/stream`]: (_request, response) =>
        stream(response, frame('6', 'event', anEvent(6, { type: 'bead.closed', subject: 'al-2' }))),
      [`${CITY}/convoy/al-1`]: (_request, response, nth) => {
        const { convoy, closed } = nth === 1 ? head('open', 0) : head('closed', 1);
        json(
          response,
          { convoy, children: [bead('al-2', convoy.status)], progress: { total: 1, closed } },
          { 'x-svc-index': `${4 + nth}` },
        );
      },
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' }, interactive: true, width: 45, height: 24 });
    expect(await runCli(['convoy', 'watch', 'al-1'], io)).toBe(0);
    const [first, again] = io.stdout.split('\u001b[2A\u001b[J');
    expect(first).toBe(`al-1 [open] A t…  ${'░'.repeat(20)} 0 of 1\n└─ ○ al-2 [open] al-2\n`);
    expect(again).toBe(`al-1 [closed] A…  ${'█'.repeat(20)} 1 of 1\n└─ ✓ al-2 [closed] al-2\n`);
  });

  // Guard: every bead of the city that changed had the whole convoy read, one after the other.
  it('is read once for what happens together', async () => {
    const happened = (seq: number): string => frame(`${seq}`, 'event', anEvent(seq, { type: 'bead.updated', subject: 'al-9' }));
    let head = 5;
    server = await testServer({
      [`${CITY}/events`]: (_request, response) => json(response, { items: [] }, { 'x-svc-index': '5' }),
      [`${CITY}/events/stream`]: (_request, response, nth) => {
        // Who comes again has had all that the stream before has told.
        const [from, to] = nth === 1 ? [6, 105] : [106, 106];
        head = to;
        stream(response, 'retry: 1\n\n', ...Array.from({ length: to - from + 1 }, (_, n) => happened(from + n)));
        if (nth === 1) response.end();
      },
      [`${CITY}/convoy/al-1`]: (_request, response) => {
        const [status, closed] = head === 106 ? ['closed', 1] : ['open', 0];
        const body = { convoy: bead('al-1', status), children: [bead('al-2', status)], progress: { total: 1, closed } };
        json(response, body, { 'x-svc-index': String(head) });
      },
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(['convoy', 'watch', 'al-1'], io)).toBe(0);
    expect(io.stdout).toMatch(/^al-1 \[open\] .* 0 of 1\n└─ ○ al-2 .*\n✓ al-2 \[closed\] al-2\nal-1 \[closed\] .* 1 of 1\n$/);
    expect(server.requests.filter(({ line }) => line.startsWith(`GET ${CITY}/convoy/`))).toHaveLength(3);
  });
});
