import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';

let server: TestServer;
afterEach(() => server.close());

/** What the last column says of one delivery. */
async function why(delivery: object): Promise<string | undefined> {
  const common = { id: 'dlv-1', direction: 'outbound', session: 'al-1', created_at: new Date().toISOString() };
  const conversation = { scope_id: 'alpha', provider: 'slack', account_id: 'default', conversation_id: 'C1', kind: 'room' };
  const items = [{ ...common, conversation, ...delivery }];
  server = await testServer({ '/v0/city/alpha/extmsg/deliveries': (_request, response) => json(response, { items, total: 1 }) });
  const io = fakeIo({});
  expect(await runCli(['extmsg', 'deliveries', '--api', server.url, '--city', 'alpha'], io)).toBe(0);
  return io.stdout.split('\n')[1]!.split(/ {2,}/)[6];
}

describe('svc extmsg deliveries', () => {
  it('says of what is tried again how often it was, and when it is', async () => {
    const next = new Date(Date.now() + 90 * 60_000 + 30_000).toISOString();
    const waits = { state: 'pending', attempts: 3, error_code: 'rate_limited', error: '429 slow down', next_attempt_at: next };
    expect(await why(waits)).toBe('429 slow down (3 tries, again in 1h30m)');
  });

  it.each([
    ['what is tried', { state: 'pending', attempts: 1, next_attempt_at: '2026-01-01T00:00:00Z' }, '(1 try)'],
    ['what nobody has tried yet', { state: 'pending', attempts: 0, next_attempt_at: '2026-01-01T00:00:00Z' }, undefined],
    ['what has failed for good', { state: 'failed', attempts: 10, error_code: 'transient', error: '503' }, '503'],
  ])('says no more than it knows of %s', async (_what, delivery, said) => {
    expect(await why(delivery)).toBe(said);
  });
});
