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
  // Guard: what has been said to one address is not said to another.
  it('goes to the next address of a name where there is no connection with one, and to none after that', async () => {
    const heard: string[] = [];
    let breaks = false;
    const adapter = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', () => {
          heard.push(socket.localAddress!);
          if (breaks) return void socket.destroy();
          socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
        }),
    );
    await new Promise<void>((resolve) => adapter.listen(0, '127.0.0.1', resolve));
    const { port } = adapter.address() as AddressInfo;
    const guard = OutgoingGuard.with(loadConfig({ SVC_ALLOWED_TARGETS: `adapter.example.com:${port}` }, '/'), () =>
      Promise.resolve(addresses),
    );
    const post = (): Promise<unknown> =>
      new Callback(guard, new ExtmsgTimings()).post(
        'demo',
        `http://adapter.example.com:${port}/`,
        '{}',
        'svx_a',
        new AbortController().signal,
      );
    let addresses = ['127.0.0.2', '127.0.0.1', '127.0.0.1'];
    try {
      expect(await post()).toMatchObject({ status: 200, body: '{}' });
      expect(heard.splice(0)).toEqual(['127.0.0.1']);
      breaks = true;
      expect(await post()).toMatchObject({ status: 0, refused: false });
      expect(heard.splice(0)).toEqual(['127.0.0.1']);
      addresses = ['127.0.0.2', '127.0.0.3'];
      expect(await post()).toMatchObject({ status: 0, why: expect.stringContaining('ECONNREFUSED 127.0.0.3'), refused: false });
    } finally {
      await new Promise((resolve) => adapter.close(resolve));
    }
  }, 20_000);

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
