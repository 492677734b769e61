import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { COMMAND, rawly, Served, upgradeRequest, Wire } from '../support/served.js';
import { eventually } from '../support/sse.js';
import { holdRoutes, serveSoon } from '../support/stack-timings.js';

/** Requests for services of a city, at a replica that has none of them; hostile ones among them. */
let stack: Stack;
let a: Api;
let base: string;
let ledger: Ledger;
let city: Served;
let other: Served;
const BOARD = '/v0/city/alpha/svc/board';
const MARK = { 'X-SVC-Request': '1' };
const MiB = 1024 * 1024;
const LIMIT = 8 * MiB;

const TABLES = `
[[service]]
name = "board"
kind = "proxy_process"
publication = { allow_websockets = true }
process = { ${COMMAND} }
[[service]]
name = "quiet"
kind = "proxy_process"
process = { ${COMMAND} }
[[service]]
name = "open"
kind = "proxy_process"
publish_mode = "direct"
process = { ${COMMAND} }
`;

beforeAll(async () => {
  stack = await startStack();
  serveSoon(stack);
  base = stack.urls[1]!;
  a = api(base);
  ledger = await Ledger.open(stack);
  [city, other] = [await Served.make(stack, ledger, 'alpha', TABLES), await Served.make(stack, ledger, 'beta', TABLES)];
  await Promise.all([city.until('board'), city.until('quiet'), city.until('open'), other.until('board')]);
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('a request for a service', () => {
  it('is carried there as it is: method, path, query, headers and body', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
      expect(
        await a.send(method, `${BOARD}/a%20b/c%2Fd//e?x=1&y=%2F`, method === 'GET' ? undefined : 'body', { 'Content-Type': 'text/odd' }),
      ).toMatchObject({
        status: 200,
        body: { method, url: '/a%20b/c%2Fd//e?x=1&y=%2F', length: method === 'GET' ? 0 : 4 },
      });
    for (const path of ['', '/']) expect((await a.get(`${BOARD}${path}`)).body.url).toBe('/');
    expect((await a.get(`${BOARD}?q`)).body.url).toBe('/?q');
    expect((await a.send('HEAD', `${BOARD}/x`)).status).toBe(200);
  });

  // Guard: what the way here, and the caller, are known by stays here.
  it('has no credentials of ours, nothing of the way here, and nothing made up about that', async () => {
    const sent = {
      Authorization: 'Bearer svs_12_abcdefghijklmnopqrst',
      Cookie: 'a=1',
      Forwarded: 'for=1.2.3.4',
      'X-Forwarded-For': '1.2.3.4',
      'X-Forwarded-Proto': 'https',
      'X-Real-IP': '1.2.3.4',
      'X-SVC-Hop': 'x',
      'X-SVC-Request-Id': 'made-up',
      Connection: 'close, X-Mine, Content-Length',
      'X-Mine': 'for this hop',
      TE: 'trailers',
      'Proxy-Authorization': 'Basic eDp5',
    };
    const reply = await a.post(`${BOARD}/h`, 'four', { ...sent, Authorization: 'Bearer x, Bearer svc_0123456789ab_secret' });
    const { headers, length } = reply.body;
    expect(length).toBe(4);
    expect(headers).toMatchObject({ cookie: 'a=1', host: 'service', 'x-svc-request-id': reply.headers.get('x-svc-request-id') });
    const gone = [
      'authorization',
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-real-ip',
      'x-svc-hop',
      'x-mine',
      'te',
      'proxy-authorization',
    ];
    expect(gone.filter((name) => name in headers)).toEqual([]);
    expect(headers['x-svc-request']).toBeUndefined();
    const own = await a.get(`${BOARD}/h`, { Authorization: 'Basic eDp5' });
    expect(own.body.headers.authorization).toBe('Basic eDp5');
    // Who says to be a session of ours has to be one.
    expect((await a.get(`${BOARD}/h`, { Authorization: sent.Authorization })).status).toBe(401);
  });

  it('is answered as the service answers, but for what is of the way, or ours', async () => {
    const { status, headers, text } = await a.get(`${BOARD}/odd`);
    expect([status, text, headers.get('x-own')]).toEqual([203, 'odd', 'kept']);
    expect(headers.get('x-svc-request-id')).toMatch(/^[0-9a-f]{16}$/);
    expect(headers.get('vary')).toBe('Accept, Origin');
    expect(['x-hop', 'service-worker-allowed'].filter((name) => headers.has(name))).toEqual([]);
    const raw = await rawly(base, `GET ${BOARD}/odd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect(raw.head.match(/set-cookie: .*/gi)).toEqual(['set-cookie: a=1', 'set-cookie: b=2']);
  });

  it('that a service breaks off is broken off, and never told to be whole', async () => {
    await expect(a.get(`${BOARD}/cut`)).rejects.toThrow();
  });

  it.each([
    ['/../quiet/x', 400],
    ['/a/../../quiet/x', 400],
    ['/%2e%2e/quiet', 400],
    ['/%2E./quiet', 400],
    ['/a/..%2f..%2fquiet', 400],
    ['/a/..%5c..%5cquiet', 400],
    ['/%252e%252e/quiet', 400],
    ['/%25252e%25252e%25252fquiet', 400],
    ['/..;/quiet', 400],
    ['/.', 400],
    ['/a%', 400],
    ['/a%00b', 422],
    ['/100%25/a%2Fb/...x', 200],
  ])('%s leads nowhere else: %i', async (path, status) => {
    const raw = await rawly(base, `GET ${BOARD}${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    expect([path, raw.status]).toEqual([path, status]);
    if (status === 200) expect(JSON.parse(raw.text).url).toBe(path);
  });

  it('by an absolute address is the same one, and its host counts', async () => {
    const ask = (target: string, host: string) => rawly(base, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(JSON.parse((await ask(`http://localhost${BOARD}/abs?x`, 'localhost')).text).url).toBe('/abs?x');
    expect((await ask(`http://evil.example${BOARD}/abs`, 'localhost')).status).toBe(421);
    expect((await ask(`${BOARD}/abs`, 'evil.example')).status).toBe(421);
    expect((await ask(`http://localhost${BOARD}/../../../beta/svc/board/x`, 'localhost')).status).toBe(400);
  });

  it.each(['POST', 'PUT', 'DELETE'])('is carried without a body, and without a word on it: %s', async (method) => {
    const head = `${method} ${BOARD}/bare HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nConnection: close\r\n\r\n`;
    const raw = await rawly(base, head);
    expect(raw.status).toBe(200);
    expect(JSON.parse(raw.text)).toMatchObject({ method, url: '/bare', length: 0 });
  });

  it.each([
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 40\r\n', 'POST', 400],
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', 'POST', 400],
    ['chunks that are not the last coding', 'Transfer-Encoding: chunked, identity\r\n', 'POST', 400],
    ['a coding nobody here knows', 'Transfer-Encoding: xchunked\r\n', 'POST', 400],
    ['another coding within chunks', 'Transfer-Encoding: gzip, chunked\r\n', 'POST', 400],
    ['a header over two lines', 'X-A: b\r\n GET /smuggled HTTP/1.1\r\n', 'POST', 400],
    ['a bare line feed', 'X-A: b\nX-B: c\r\n', 'POST', 400],
    ['a name with a blank', 'Content-Length : 4\r\n', 'POST', 400],
    ['chunks for a GET, framed for this hop only', 'Transfer-Encoding: chunked\r\nConnection: close, Transfer-Encoding\r\n', 'GET', 200],
  ])('cannot hide another one: %s', async (_what, headers, method, status) => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
    const body = headers.includes('chunked\r\nConnection')
      ? `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`
      : `0\r\n\r\n${smuggled}`;
    const head = `${method} ${BOARD}/first HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\n${headers.includes('Connection') ? '' : 'Connection: close\r\n'}`;
    const raw = await rawly(base, `${head}${headers}\r\n${body}`);
    expect(raw.status).toBe(status);
    expect(raw.text).not.toContain('"url":"/smuggled"');
    if (status === 200) expect(JSON.parse(raw.text)).toMatchObject({ url: '/first', length: smuggled.length });
  });
});

describe('who may', () => {
  it('change something has to send what pages of other sites cannot', async () => {
    expect(await a.post(`${BOARD}/x`, 'x', { 'X-SVC-Request': undefined })).toMatchObject({
      status: 403,
      body: { detail: 'csrf: X-SVC-Request header required on private service mutation endpoints' },
    });
    expect((await a.post('/v0/city/alpha/svc/open/x', 'x', { 'X-SVC-Request': undefined })).status).toBe(200);
    expect((await a.post(`${BOARD}/x`, 'x', { Origin: 'https://evil.example' })).body.code).toBe('origin-not-allowed');
    expect((await a.send('OPTIONS', `${BOARD}/x`)).status).toBe(204);
  });

  it('has a key, of the city, and one that may do what is asked; a service that is direct asks for none of who reads', async () => {
    const keys = await stack.add('api', { auth: 'keys' });
    const key = async (body: object): Promise<Api> => {
      const reply = await a.post('/v0/keys', body);
      expect(reply.status).toBe(201);
      return api(keys.url, { Authorization: `Bearer ${reply.body.key}` });
    };
    const [all, reads, theirs] = [
      await key({ name: 'all', scope: 'write' }),
      await key({ name: 'reads', scope: 'read', cities: ['alpha'] }),
      await key({ name: 'theirs', scope: 'write', cities: ['beta'] }),
    ];
    const nobody = api(keys.url);
    expect((await nobody.get(`${BOARD}/x`)).status).toBe(401);
    // Who has none learns nothing of what there is.
    for (const path of ['/v0/city/alpha/svc/none', '/v0/city/none/svc/board']) expect((await nobody.get(path)).status).toBe(401);
    expect(
      (await api(keys.url, { Authorization: `Bearer svc_${'0'.repeat(12)}_${'x'.repeat(32)}` }).get('/v0/city/alpha/svc/open')).status,
    ).toBe(401);
    expect((await all.get(`${BOARD}/x`)).body.headers.authorization).toBeUndefined();
    expect((await all.post(`${BOARD}/x`, 'x')).status).toBe(200);
    expect((await reads.get(`${BOARD}/x`)).status).toBe(200);
    expect((await reads.post(`${BOARD}/x`, 'x')).body.code).toBe('forbidden');
    expect(await theirs.get(`${BOARD}/x`)).toMatchObject({ status: 404, body: { detail: 'not_found: city not found or not running' } });
    expect((await theirs.get('/v0/city/beta/svc/board/x')).status).toBe(200);
    const open = '/v0/city/alpha/svc/open/x';
    const direct = await nobody.get(open, { 'X-SVC-Request': undefined, Authorization: 'Bearer of-its-own' });
    expect([direct.status, direct.body.headers.authorization]).toEqual([200, 'Bearer of-its-own']);
    expect((await nobody.post(open, 'x', { Authorization: 'Bearer of-its-own' })).body.code).toBe('unauthorized');
    expect((await reads.post(open, 'x')).body.code).toBe('forbidden');
    expect((await all.post(open, 'x', { 'X-SVC-Request': undefined })).status).toBe(200);
    expect((await a.post(open, 'x', { 'X-SVC-Request': undefined })).status).toBe(200);
    const socket = await Wire.say(keys.url, upgradeRequest(`${BOARD}/ws`));
    expect(await socket.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 401 /);
    socket.close();
    // A key that is good no more ends what was begun with it.
    const made = (await a.post('/v0/keys', { name: 'short', scope: 'read' })).body;
    const get = (path: string): Promise<Wire> =>
      Wire.say(keys.url, `GET ${BOARD}/${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${made.key}\r\n\r\n`);
    const unanswered = await get('never');
    const stream = await get('sse');
    await stream.until((text) => text.includes('data: '));
    expect((await a.delete(`/v0/keys/${made.id}`)).status).toBeLessThan(300);
    await stream.until((_text, { ended }) => ended);
    // To try again with it is of no use.
    expect(await unanswered.until((text) => text.includes('valid any more'))).toMatch(/^HTTP\/1\.1 401 [^]*www-authenticate: Bearer/i);
    unanswered.close();
  });

  // Guard: what was changed through this door is told of whoever has come in by it.
  it('has changed something leaves a record: who, of which service, what, and how it was answered', async () => {
    const keys = await stack.add('api', { auth: 'keys' });
    const made = (await a.post('/v0/keys', { name: 'changer', scope: 'write' })).body;
    const changer = api(keys.url, { Authorization: `Bearer ${made.key}` });
    const ids = new Map<string, object>();
    const note = (reply: Reply, more: object): void => void ids.set(reply.headers.get('x-svc-request-id')!, more);
    const common = { key_id: made.id, actor: 'changer', city: 'alpha', operation: 'city-service-proxy', path: '/v0/city/{cityName}/svc/*' };
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      note(await changer.send(method, `${BOARD}/a/b%20c?secret=x`, 'x'), {
        ...common,
        method,
        status: 200,
        ids: { service: 'board', path: '/a/b c' },
      });
    note(await changer.post(`${BOARD}/odd`, 'x'), { ...common, method: 'POST', status: 203, ids: { service: 'board', path: '/odd' } });
    note(await changer.post('/v0/city/alpha/svc/none/x', 'x'), { ...common, method: 'POST', status: 404, code: 'not-found' });
    note(await changer.post(`${BOARD}/x`, 'x', { 'X-SVC-Request': undefined }), { ...common, method: 'POST', status: 403, code: 'csrf' });
    note(await changer.post('/v0/city/alpha/svc/open', 'x', { 'X-SVC-Request': undefined }), {
      ...common,
      status: 200,
      ids: { service: 'open', path: '/' },
    });
    note(await api(keys.url).post('/v0/city/alpha/svc/open', 'x'), { key_id: null, actor: null, status: 401, code: 'unauthorized' });
    // Who leaves before it is answered may have changed something.
    const waiting = async (): Promise<number> => (await a.get(`${BOARD}/tell`)).body.waiting;
    const before = await waiting();
    const left = await Wire.say(
      keys.url,
      `POST ${BOARD}/never HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nX-SVC-Request: 1\r\nAuthorization: Bearer ${made.key}\r\n\r\n`,
    );
    await eventually(async () => (await waiting()) === before + 1);
    left.close();
    const read = await changer.get(`${BOARD}/x`);
    const told = async (query: string): Promise<any[]> => (await a.get(`/v0/audit?limit=1000&${query}`)).body.items;
    await eventually(async () => (await told(`key=${made.id}&operation=city-service-proxy`)).length >= ids.size);
    for (const [id, more] of ids) expect(await told(`request_id=${id}`)).toMatchObject([more]);
    expect(await told(`request_id=${read.headers.get('x-svc-request-id')!}`)).toEqual([]);
    expect((await told(`key=${made.id}`)).filter(({ ids: { path } }) => path === '/never')).toMatchObject([
      { outcome: 'failed', status: 502 },
    ]);
  });

  it('is far away and unmarked finds nothing, and changes nothing where the service is open to a network', async () => {
    const open = await stack.add('api', { host: '0.0.0.0', auth: 'off' });
    const url = open.url.replace('0.0.0.0', '127.0.0.1');
    const near = api(url);
    expect((await near.get(`${BOARD}/x`)).status).toBe(200);
    expect(await near.post(`${BOARD}/x`, 'x')).toMatchObject({
      status: 403,
      body: { detail: 'read_only: service mutations are disabled for unpublished services' },
    });
    expect((await near.post('/v0/city/alpha/svc/open/x', 'x')).status).toBe(200);
  });
});

describe('what goes on', () => {
  it('comes as it is said, and ends with whoever listens', async () => {
    const wire = await Wire.say(base, `GET ${BOARD}/sse HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await wire.until((text) => /data: \d+/.test(text));
    expect((await a.get(`${BOARD}/tell`)).body.told).toBe(1);
    await wire.until((text) => text.includes('data: told'));
    wire.close();
    await eventually(async () => (await a.get(`${BOARD}/tell`)).body.told === 0);
  });

  // Guard: a stream that says nothing yet has begun.
  it('has begun when its service says so, before it says anything', async () => {
    const wire = await Wire.say(base, `GET ${BOARD}/hush HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(await wire.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 200 [\s\S]*text\/event-stream/);
    wire.close();
  });

  it('on a WebSocket passes both ways, where the files allow it', async () => {
    const wire = await Wire.say(base, Buffer.concat([Buffer.from(upgradeRequest(`${BOARD}/ws`)), Buffer.from('early')]));
    await wire.until((text) => text.endsWith('early'));
    expect(wire.text).toMatch(/^HTTP\/1\.1 101 /);
    const bytes = randomBytes(300_000);
    const before = wire.bytes;
    wire.socket.write(bytes);
    await wire.until((_text, { bytes: now }) => now - before >= bytes.length);
    wire.close();
    const refused = await Wire.say(base, upgradeRequest('/v0/city/alpha/svc/quiet/ws'));
    await refused.until((_text, { ended }) => ended);
    expect(refused.text).toMatch(/^HTTP\/1\.1 403 [\s\S]*allow_websockets/);
    const foreign = await Wire.say(base, upgradeRequest(`${BOARD}/ws`, ['Origin: https://evil.example']));
    await foreign.until((_text, { ended }) => ended);
    expect(foreign.text).toMatch(/^HTTP\/1\.1 403 [\s\S]*origin_not_allowed/);
    const no = await Wire.say(base, upgradeRequest(`${BOARD}/no`));
    await no.until((text) => text.endsWith('none'));
    expect(no.text).toMatch(/^HTTP\/1\.1 404 /);
    no.close();
    // Elsewhere nobody speaks anything else.
    const elsewhere = await Wire.say(base, upgradeRequest('/v0/cities'));
    await elsewhere.until((text) => text.includes('"items"'));
    expect(elsewhere.text).toMatch(/^HTTP\/1\.1 200 /);
    elsewhere.close();
  });

  it('is as large as it is in both directions, and never here as a whole', async () => {
    const size = 320 * MiB;
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const look = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 10);
    const piece = randomBytes(MiB);
    const hash = createHash('sha256');
    function* pieces() {
      for (let n = 0; n < size / MiB; n++) {
        hash.update(piece);
        yield piece;
      }
    }
    const reply = await new Promise<any>((resolve, reject) => {
      const sent = httpRequest(
        `${base}${BOARD}/upload`,
        { method: 'POST', headers: { ...MARK, 'transfer-encoding': 'chunked' } },
        (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
          answer.on('end', () => resolve(JSON.parse(text)));
        },
      );
      sent.on('error', reject);
      Readable.from(pieces()).pipe(sent);
    });
    expect(reply).toMatchObject({ length: size, sha256: hash.digest('hex') });
    const got = await fetch(`${base}${BOARD}/big?n=${size}`);
    let length = 0;
    for await (const chunk of got.body!) length += chunk.length;
    expect(length).toBe(size);
    clearInterval(look);
    // The client, both replicas' parts and the host are all in this process.
    expect(most).toBeLessThan(size * 0.8);
  });

  // Guard: a slow reader keeps the service from writing on.
  it('waits for whoever reads slowly', async () => {
    const wire = await Wire.say(base, '');
    wire.socket.pause();
    wire.socket.write(`GET ${BOARD}/big?n=${512 * MiB} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const before = process.memoryUsage().arrayBuffers;
    // Others are served meanwhile, again and again.
    for (let n = 0; n < 20; n++) expect((await a.get(`${BOARD}/x`)).status).toBe(200);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * MiB);
    wire.close();
  });

  // Guard: a body that says nothing of its length ends at the limit.
  it('is refused beyond the limit, whether it says so before or not', async () => {
    serveSoon(stack, {}, { body: LIMIT });
    const told = await rawly(
      base,
      `POST ${BOARD}/upload HTTP/1.1\r\nHost: localhost\r\nX-SVC-Request: 1\r\nConnection: close\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`,
    );
    expect(told.status).toBe(413);
    const status = await new Promise<number>((resolve, reject) => {
      const sent = httpRequest(
        `${base}${BOARD}/upload`,
        { method: 'POST', headers: { ...MARK, 'transfer-encoding': 'chunked' } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode!);
        },
      );
      sent.on('error', reject);
      const piece = Buffer.alloc(MiB);
      Readable.from(
        (function* () {
          for (let n = 0; n <= LIMIT / MiB; n++) yield piece;
        })(),
      ).pipe(sent);
    });
    expect(status).toBe(413);
    const exact = await a.post(`${BOARD}/upload`, Buffer.alloc(LIMIT));
    expect(exact.body.length).toBe(LIMIT);
    serveSoon(stack, {}, { body: 1024 * MiB });
  });

  it('for ever without an answer is given up, and takes no place of others', async () => {
    serveSoon(stack, {}, { answerMs: 100 });
    expect(await a.get(`${BOARD}/never`)).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('has not answered in time') },
    });
    serveSoon(stack, {}, { answerMs: 120_000, service: 2 });
    const wires = [1, 2].map(() => Wire.say(base, `GET ${BOARD}/sse HTTP/1.1\r\nHost: localhost\r\n\r\n`));
    for (const wire of wires) await (await wire).until((text) => text.includes('data: '));
    expect((await a.get(`${BOARD}/x`)).status).toBe(503);
    expect((await a.get('/v0/city/beta/svc/board/x')).status).toBe(200);
    for (const wire of wires) (await wire).close();
    await eventually(async () => (await a.get(`${BOARD}/x`)).status === 200);
    serveSoon(stack, {}, { service: 512 });
  });

  it('takes no place when its client has left: before it goes on, or behind another one of its connection', async () => {
    const { app } = stack.apps.filter(({ config }) => config.role === 'api')[1]!;
    const head = 'HTTP/1.1\r\nHost: localhost\r\n';
    const get = `GET ${BOARD}/never ${head}\r\n`;
    const post = `POST ${BOARD}/never ${head}X-SVC-Request: 1\r\nContent-Length: 1\r\n\r\nx`;
    const routes = holdRoutes(app);
    const connections: Socket[] = [];
    const connected = (socket: Socket): unknown => connections.push(socket);
    (app.getHttpServer() as Server).on('connection', connected);
    const wires = await Promise.all([get, post, get + get].map((text) => Wire.say(base, text)));
    await eventually(() => routes.asked() === 4);
    for (const wire of wires) wire.close();
    await eventually(() => connections.length === 3 && connections.every(({ destroyed }) => destroyed));
    (app.getHttpServer() as Server).off('connection', connected);
    routes.go();
    serveSoon(stack, {}, { service: 1 });
    expect((await a.get(`${BOARD}/x`)).status).toBe(200);
    serveSoon(stack, {}, { service: 2 });
    const behind = await Wire.say(base, `${get}GET ${BOARD}/big?n=${8 * MiB} ${head}\r\n`);
    await eventually(async () => (await a.get(`${BOARD}/x`)).status === 503);
    serveSoon(stack, {}, { service: 1 });
    behind.close();
    await eventually(async () => (await a.get(`${BOARD}/x`)).status === 200);
    serveSoon(stack, {}, { service: 512 });
  });

  it('ends when its service begins anew, and holds that up for a moment only', async () => {
    const stream = await Wire.say(base, `GET ${BOARD}/sse HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const socket = await Wire.say(base, upgradeRequest(`${BOARD}/ws`));
    await stream.until((text) => text.includes('data: '));
    await socket.until((text) => text.includes('101'));
    expect((await a.post('/v0/city/alpha/service/board/restart')).status).toBe(200);
    for (const wire of [stream, socket]) await wire.until((_text, { ended }) => ended);
    await city.until('board');
  });
});
