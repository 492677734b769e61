import { once } from 'node:events';
import { readdir, rename } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import tls, { connect as connectSecurely } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { Authority, mountedPair, type PairFiles } from '../support/authority.js';
import { killSvc, spawnSvc } from '../support/cli.js';
import { cloneDatabase } from '../support/database.js';
import { folder, removeFolders } from '../support/folders.js';
import { api } from '../support/http.js';
import { sendRaw } from '../support/raw.js';
import { SlowClient } from '../support/slow-client.js';
import { eventually, openStream, type Frame, type OpenStream } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';

let dir: string;
let authority: Authority;
let first: PairFiles & { dir: string };
let second: PairFiles & { dir: string };
let mounted: Awaited<ReturnType<typeof mountedPair>>;
let stack: Stack;

const CITY = 'works';
const STREAM = `/v0/city/${CITY}/events/stream`;
const isEvent = ({ event }: Frame): boolean => event === 'event';
const seqs = ({ frames }: OpenStream): number[] => frames.filter(isEvent).map(({ data }) => data.seq as number);

beforeAll(async () => {
  dir = await folder('svc-tls-');
  authority = await Authority.in(dir);
  [first, second] = [await authority.issue(), await authority.issue()];
  mounted = await mountedPair(join(dir, 'mounted'), first.dir);
  // For clients in this process; those of the command line are processes of their own.
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), await authority.pem()]);
  stack = await startStack({ config: { tls: mounted, heartbeatMs: 200 } });
  const created = await api(stack.urls[0]!).post('/v0/city', { dir: CITY, provider: 'loopback' });
  const stream = await openStream(`${stack.urls[1]}/v0/events/stream?after_cursor=${encodeURIComponent(created.body.event_cursor)}`);
  await stream.until(({ data }) => data.payload?.request_id === created.body.request_id && /^request\./.test(data.type));
  await stream.close();
});
afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  killSvc();
  await stack?.stop();
  await removeFolders();
});

async function emit(payload: unknown = {}, at = 0): Promise<number> {
  const { status, body } = await api(stack.urls[at]!).post(`/v0/city/${CITY}/events`, { type: 'custom.test', actor: 'tests', payload });
  expect(status).toBe(201);
  return body.seq as number;
}

/** What a new connection is shown. */
async function shown(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connectSecurely({ host: hostname, port: Number(port) });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

describe('an api that serves HTTPS', () => {
  it('is called so everywhere, by the probes of a worker too', async () => {
    for (const url of [...stack.urls, ...stack.workerUrls]) {
      expect(url).toMatch(/^https:/);
      expect((await api(url).get('/ready')).status).toBe(200);
    }
    const config = await api(stack.urls[0]!).get(`/v0/city/${CITY}/config`);
    expect(config.body.effective_api_url ?? stack.urls[0]).toMatch(/^https:/);
    const metrics = (await api(stack.urls[0]!).get('/metrics')).text;
    const expiry = Number(/^svc_tls_certificate_expiry_timestamp_seconds(?:\{.*\})? (\d+)/m.exec(metrics)?.[1]);
    expect(expiry).toBeGreaterThan(Date.now() / 1_000);
  });

  it('speaks nothing older than TLS 1.2', async () => {
    const { hostname, port } = new URL(stack.urls[0]!);
    const old = connectSecurely({
      host: hostname,
      port: Number(port),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    });
    expect(await once(old, 'error')).toEqual([expect.objectContaining({ code: expect.stringMatching(/^ERR_SSL|ECONNRESET/) })]);
  });

  it.each(['GET', 'DELETE'])('tells who speaks plain HTTP (%s) what to do', async (method) => {
    const reply = await sendRaw(stack.urls[0]!, `${method} /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    expect(reply.status).toBe(400);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(reply.text).toContain('this port speaks HTTPS: use https:// in the address');
  });

  it('keeps a connection over a refused body, and the limits of headers and targets', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const kept = api(stack.urls[0]!, {}, agent);
    const used = new Set<unknown>();
    agent.on('free', (socket) => used.add(socket));
    expect((await kept.post('/v0/city', JSON.stringify({ dir: 'x'.repeat(3_000_000) }))).status).toBe(413);
    expect((await kept.get('/health')).status).toBe(200);
    expect(used.size).toBe(1);
    expect((await kept.get(`/health?${'x'.repeat(600_000)}`)).status).toBe(414);
    agent.destroy();
    expect((await api(stack.urls[0]!).get('/health', { 'x-long': 'x'.repeat(1_100_000) })).status).toBe(431);
  });

  it('resumes a stream at another replica, while the certificate changes under it', async () => {
    const before = await shown(stack.urls[0]!);
    const stream = await openStream(`${stack.urls[0]}${STREAM}`);
    const one = await emit();
    await stream.until((frame) => isEvent(frame) && frame.data.seq === one);
    await mounted.swap(second.dir);
    await eventually(async () => (await shown(stack.urls[0]!)) !== before && (await shown(stack.urls[1]!)) !== before);
    const two = await emit();
    const last = await stream.until((frame) => isEvent(frame) && frame.data.seq === two);
    expect([stream.ended, seqs(stream)]).toEqual([false, [one, two]]);
    await stream.close();
    const three = await emit({}, 1);
    const resumed = await openStream(`${stack.urls[1]}${STREAM}`, { headers: { 'last-event-id': last.id! } });
    await resumed.until((frame) => isEvent(frame) && frame.data.seq === three);
    expect(seqs(resumed)).toEqual([three]);
    await resumed.close();
  });

  it('goes on with the old pair while the files do not belong together', async () => {
    const [was, other] = [await shown(stack.urls[0]!), await authority.issue()];
    const mixed = await authority.issue();
    await rename(other.cert, mixed.cert);
    await mounted.swap(mixed.dir);
    const stream = await openStream(`${stack.urls[0]}${STREAM}`);
    // Two looks at least have been taken when ten heartbeats have come.
    await stream.untilAll((frames) => frames.filter(({ event }) => event === 'heartbeat').length > 10);
    await stream.close();
    expect(await shown(stack.urls[0]!)).toBe(was);
    await mounted.swap(first.dir);
    await eventually(async () => (await shown(stack.urls[0]!)) !== was);
  });

  it('closes a client that does not read, who then resumes without a gap', async () => {
    const COUNT = 24;
    const slow = await SlowClient.open(`${stack.urls[0]}${STREAM}`);
    const pad = 'x'.repeat(400_000);
    const start = await emit();
    for (let i = 1; i < COUNT; i++) await emit({ pad });
    const open = async (): Promise<number> =>
      Number(/^svc_streams_open(?:\{.*\})? (\d+)/m.exec((await api(stack.urls[0]!).get('/metrics')).text)?.[1]);
    expect(await open()).toBe(1);
    SlowClient.timePasses();
    await eventually(async () => (await open()) === 0);
    slow.resume();
    await eventually(() => slow.closed);
    const got = slow.read();
    expect(got.seqs.length).toBeLessThan(COUNT);
    const resumed = await openStream(`${stack.urls[1]}${STREAM}`, { headers: { 'last-event-id': String(got.ids.at(-1)) } });
    await resumed.untilAll(() => got.seqs.length + seqs(resumed).length >= COUNT);
    expect([...got.seqs, ...seqs(resumed)]).toEqual(Array.from({ length: COUNT }, (_, i) => start + i));
    await resumed.close();
  });
});

describe('svc and a private authority', () => {
  const run = (args: string[], env: Record<string, string> = {}) => spawnSvc(args, { env: { SVC_API_URL: stack.urls[0]!, ...env } }).exited;

  it('trusts it when it is named, by a flag or the environment, and says how where it is not', async () => {
    const [without, flagged, told] = await Promise.all([
      run(['health']),
      run(['health', '--ca-cert', authority.file]),
      run(['event', 'emit', 'custom.cli', '--city', CITY], { SVC_CA_CERT: authority.file }),
    ]);
    expect(without).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no authority that is trusted here .*--ca-cert or SVC_CA_CERT/),
    });
    expect(flagged).toMatchObject({ code: 0, stdout: expect.stringContaining('https://') });
    expect(told).toMatchObject({ code: 0 });
  });

  it('tells when a certificate ends, and why it is not trusted', async () => {
    const [trusted, stranger] = await Promise.all([run(['doctor', '--json'], { SVC_CA_CERT: authority.file }), run(['doctor', '--json'])]);
    const certificates = [trusted, stranger].map(({ stdout }) =>
      (JSON.parse(stdout) as { checks: { name: string }[] }).checks.find(({ name }) => name === 'certificate')!,
    );
    // The authority of tests gives two days.
    expect(certificates).toEqual([
      expect.objectContaining({ status: 'warning', message: expect.stringMatching(/is trusted and ends 20/), mend: expect.any(String) }),
      expect.objectContaining({ status: 'failed', message: expect.stringContaining('no authority that is trusted here') }),
    ]);
    expect([trusted.code, stranger.code]).toEqual([0, 1]);
  });

  it('says what is wrong with the file, the name, and an address with the wrong scheme', async () => {
    const named = await authority.issue('DNS:svc.example.test');
    const other = await stack.add('api', { tls: named });
    const [file, name, plain] = await Promise.all([
      run(['health', '--ca-cert', first.key]),
      run(['health', '--ca-cert', authority.file, '--api', other.url]),
      run(['health', '--api', stack.urls[0]!.replace('https:', 'http:')]),
    ]);
    await other.stop();
    expect(file.stderr).toContain(`--ca-cert: ${first.key} holds no certificate in PEM`);
    expect(name.stderr).toContain('is for another name');
    expect(plain.stderr).toContain('this port speaks HTTPS');
    expect([file.code, name.code, plain.code]).toEqual([2, 1, 4]);
  });
});

describe('a supervisor of one process', () => {
  it('says https where it says how it is reached, and svc finds it there', async () => {
    const database = await cloneDatabase();
    const data = await folder('svc-tls-data-');
    const env = { SVC_DATABASE_URL: database.url, SVC_DATA_DIR: data, SVC_TLS_CERT: first.cert, SVC_TLS_KEY: first.key };
    const one = spawnSupervisor({ ...env, SVC_CA_CERT: authority.file });
    try {
      const url = await one.ready();
      expect(url).toMatch(/^https:/);
      const found = await spawnSvc(['health'], { env: { SVC_DATA_DIR: data, SVC_CA_CERT: authority.file } }).exited;
      expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining(`${url}, found in`) });
    } finally {
      one.child.kill('SIGINT');
      await one.exited;
      await database.drop();
    }
  });

  it('does not start with a pair that is none, and says why', async () => {
    const data = await folder('svc-tls-data-');
    const one = spawnSupervisor({ SVC_DATA_DIR: data, SVC_TLS_CERT: first.cert, SVC_TLS_KEY: second.key });
    expect((await one.exited).code).toBe(1);
    expect(one.output()).toContain(`SVC_TLS_KEY: the key in ${second.key} does not belong to the certificate in ${first.cert}`);
    expect(await readdir(data)).toEqual([]);
  });
});
