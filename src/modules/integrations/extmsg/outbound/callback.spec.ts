import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../platform/config/config.js';
import { OutgoingGuard } from '../../../../platform/outgoing/outgoing-guard.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { Callback, signed } from './callback.js';

/** The check that the guide gives to whoever writes an adapter, as it stands there. */
const GUIDE = readFileSync(new URL('../../../../../docs/how-to/conversations.md', import.meta.url), 'utf8');
const [, check = ''] = /```js\n(.+?)```/s.exec(GUIDE) ?? [];
type Check = (secret: string, headers: object, body: Buffer, now?: number) => boolean;

describe('the check of a signature that the guide shows', () => {
  const body = '{"text":"Grüße"}';
  const now = Date.parse('2026-11-27T09:00:00Z');
  const read = async (): Promise<Check> => (await import(`data:text/javascript,${encodeURIComponent(check)}`)).isOurs;

  it('takes what the service signs, also from a clock that differs by minutes', async () => {
    const isOurs = await read();
    for (const differs of [0, -299_000, 299_000])
      expect(isOurs('svx_a', signed(body, 'svx_a', now), Buffer.from(body), now + differs)).toBe(true);
  });

  it('takes nothing else', async () => {
    const isOurs = await read();
    const headers = signed(body, 'svx_a', now);
    expect(isOurs('svx_b', headers, Buffer.from(body), now)).toBe(false);
    expect(isOurs('svx_a', headers, Buffer.from(`${body} `), now)).toBe(false);
    expect(isOurs('svx_a', headers, Buffer.from(body), now + 302_000)).toBe(false);
    expect(isOurs('svx_a', { ...headers, 'x-svc-timestamp': String(now / 1_000 + 1) }, Buffer.from(body), now)).toBe(false);
    expect(isOurs('svx_a', { ...headers, 'x-svc-signature': 'sha256=' }, Buffer.from(body), now)).toBe(false);
    expect(isOurs('svx_a', {}, Buffer.from(body), now)).toBe(false);
  });
});

describe('a call', () => {
  // Guard: what is no answer is not waited for.
  it('that is answered with another protocol has come to nothing', async () => {
    const adapter = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')),
    );
    await new Promise<void>((resolve) => adapter.listen(0, '127.0.0.1', resolve));
    const { port } = adapter.address() as AddressInfo;
    const guard = new OutgoingGuard(loadConfig({ SVC_ALLOWED_TARGETS: `127.0.0.1:${port}` }, '/'));
    const called = new Callback(guard, new ExtmsgTimings()).post(
      'demo',
      `http://127.0.0.1:${port}/`,
      '{}',
      'svx_a',
      new AbortController().signal,
    );
    try {
      expect(await called).toEqual({ status: 0, why: 'its connection has ended without an answer', refused: false });
    } finally {
      await new Promise((resolve) => adapter.close(resolve));
    }
  }, 20_000);
});
