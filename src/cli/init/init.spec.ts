import { describe, expect, it } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { FILES, publishedSchema } from '../../../scripts/docs-gen/file-schemas.js';
import { runCli } from '../cli.js';
import { fakeIo, type FakeIo } from '../testing/io.js';
import { json, problem, testServer } from '../testing/server.js';
import { filesOf, nextOf, TEMPLATES } from './templates.js';

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-init-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `svc init …` in a folder, with a server that answers `register`, or with none. */
async function init(
  folder: string,
  args: readonly string[],
  register?: { status: number; body: object | string; interrupts?: boolean },
): Promise<{ code: number; io: FakeIo }> {
  const io = fakeIo({ cwd: folder });
  const server = createServer((request, response) => {
    const isHealth = request.url === '/health';
    if (!isHealth && register?.interrupts === true) return io.interrupt();
    const [status, body] = isHealth ? [200, { status: 'ok' }] : [register?.status ?? 500, register?.body ?? {}];
    if (typeof body === 'string') return void response.writeHead(status, { 'Content-Type': 'text/html' }).end(body);
    response
      .writeHead(status, { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json' })
      .end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  if (register === undefined) await new Promise((resolve) => server.close(resolve));
  try {
    return { code: await runCli(['init', ...args, '--api', `http://127.0.0.1:${port}`], io), io };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('the files of a new city', () => {
  const ajv = new Ajv({ strict: false, code: { optimize: false } });
  addFormats.default(ajv);
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (kind: (typeof FILES)[number]): ValidateFunction => {
    const known = validators.get(kind.name) ?? ajv.compile(publishedSchema(kind));
    validators.set(kind.name, known);
    return known;
  };

  it.each(TEMPLATES)('are what their schemas say, for %s', (template) => {
    for (const { path, text } of filesOf({ name: 'works', template, api: 'http://127.0.0.1:1' })) {
      if (!path.endsWith('.toml')) continue;
      const kind = FILES.find(({ name }) => path.endsWith(name))!;
      expect(text.split('\n', 1)[0]).toBe(`#:schema http://127.0.0.1:1/schemas/${kind.name}.json`);
      const validate = validatorOf(kind);
      expect([path, validate(parse(text)), validate.errors]).toEqual([path, true, null]);
    }
    expect(nextOf(template, 'works')).toHaveLength(3);
  });
});

describe('svc init', () => {
  it('writes them where no server runs, and says what to do then', async () =>
    inFolder(async (folder) => {
      const { code, io } = await init(folder, ['deep/works', '--template', 'script']);
      expect([code, io.stderr]).toEqual([0, '']);
      expect(io.stdout).toContain(
        `next:\n  SVC_CITIES_ROOT=${join(folder, 'deep')} svc serve\n  svc city register ${join(folder, 'deep/works')}\n`,
      );
      const inside = await init(folder, ['.svc/cities/works']);
      expect(inside.io.stdout).toContain('next:\n  svc serve\n');
      expect((await readdir(join(folder, 'deep/works'), { recursive: true })).sort()).toEqual(
        ['.gitignore', 'agents', 'agents/worker', 'agents/worker/agent.toml', 'city.toml', 'pack.toml', 'scripts', 'scripts/worker'].sort(),
      );
      expect((await stat(join(folder, 'deep/works/scripts/worker'))).mode & 0o111).not.toBe(0);
    }));

  it('touches nothing where one of them is there', async () =>
    inFolder(async (folder) => {
      await init(folder, ['works']);
      const before = await readFile(join(folder, 'works/city.toml'), 'utf8');
      const { code, io } = await init(folder, ['works', '--template', 'script']);
      expect([code, io.stderr]).toEqual([1, `svc init: ${join(folder, 'works/pack.toml')} is there already\n`]);
      expect(await readFile(join(folder, 'works/city.toml'), 'utf8')).toBe(before);
      expect(await readdir(join(folder, 'works'))).not.toContain('scripts');
    }));

  it('keeps what a repository has, also when it is undone', async () =>
    inFolder(async (folder) => {
      await mkdir(join(folder, 'works'));
      await writeFile(join(folder, 'works/.gitignore'), 'dist/\n');
      const body = { status: 422, code: 'validation-failed', detail: 'validation_failed: invalid city name' };
      expect((await init(folder, ['works'], { status: 422, body })).code).toBe(4);
      expect(await readdir(join(folder, 'works'))).toEqual(['.gitignore']);
      expect((await init(folder, ['works'])).code).toBe(0);
      expect(await readFile(join(folder, 'works/.gitignore'), 'utf8')).toBe('dist/\n');
    }));

  it('leaves nothing where the server does not take the directory, and says where cities may lie', async () =>
    inFolder(async (folder) => {
      const detail = 'validation_failed: invalid city directory: it must lie inside /srv/cities';
      const body = { status: 422, code: 'validation-failed', detail };
      const { code, io } = await init(folder, ['works', '--template', 'claude'], { status: 422, body });
      expect(code).toBe(4);
      expect(io.stderr).toContain('cities of this server lie in /srv/cities: svc init /srv/cities/works --template claude');
      expect(await readdir(folder)).toEqual([]);
    }));

  it.each([502, 503, 504])('keeps them where a proxy answers %i: the city may be there', async (status) =>
    inFolder(async (folder) => {
      const { code, io } = await init(folder, ['works'], { status, body: '<html>' });
      const again = `svc city register ${join(folder, 'works')} --name works --idempotency-key `;
      expect([code, io.stderr.replace(/[0-9a-f]{32}/, 'KEY')]).toEqual([
        5,
        `svc init: API returned HTTP ${status}: it may have been done; the files stay: \`${again}KEY\` tries it again\n`,
      ]);
      expect(await readdir(join(folder, 'works'))).toContain('city.toml');
    }),
  );

  it.each<[number, string]>([
    [409, 'conflict: no'],
    [503, 'unavailable: no'],
    [409, 'conflict: it must lie inside /srv'],
    [401, 'unauthorized: no'],
    [422, 'validation-failed: it must lie inside /srv'],
  ])('keeps them where one that may have taken it breaks off, and another answers %i with %s', async (status, detail) =>
    inFolder(async (folder) => {
      const register = '/v0/cities/register';
      const first = await testServer({
        '/health': (_request, response) => json(response, { status: 'ok' }),
        [register]: (request) => request.socket.destroy(),
      });
      const other = await testServer({ [register]: (_request, response) => problem(response, status, detail) });
      const io = fakeIo({ cwd: folder });
      await runCli(['init', 'works', '--api', `${first.url},${other.url}`], io);
      const key = first.requests.at(-1)!.headers['idempotency-key'] as string;
      await Promise.all([first.close(), other.close()]);
      expect(io.stderr).toContain(`it may have been done; the files stay: \`svc city register ${join(folder, 'works')} --name works`);
      expect(io.stderr).toContain(` --idempotency-key ${key}\``);
      expect(await readdir(join(folder, 'works'))).toContain('city.toml');
    }),
  );

  it('keeps them where the server has no answer now, or Ctrl-C is pressed before there is one, and says how to register them', async () =>
    inFolder(async (folder) => {
      const body = { status: 503, code: 'unavailable', detail: 'unavailable: later' };
      const refused = await init(folder, ['one'], { status: 503, body });
      expect(refused.io.stderr).toBe(
        `svc init: unavailable: later; the files stay: \`svc city register ${join(folder, 'one')}\` tries it again\n`,
      );
      const { code, io } = await init(folder, ['two', '--name', 'works'], { status: 500, body, interrupts: true });
      expect([code, io.stderr]).toEqual([
        130,
        `svc init: interrupted; the files stay: \`svc city register ${join(folder, 'two')} --name works\` tries it again\n`,
      ]);
      expect(await readdir(join(folder, 'two'))).toContain('city.toml');
    }));

  it.each<[string, (socket: Socket, io: FakeIo) => void, number, string]>([
    ['breaks the connection', (socket) => socket.destroy(), 5, 'cannot reach the supervisor'],
    ['speaks something else', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>'), 1, 'is not a supervisor'],
    ['says nothing, and somebody presses Ctrl-C', (_socket, io) => io.interrupt(), 130, ''],
  ])('writes nothing where what is there %s', async (_what, answers, code, said) =>
    inFolder(async (folder) => {
      const io = fakeIo({ cwd: folder });
      const server = createTcpServer((socket) => void socket.on('error', () => undefined).once('data', () => answers(socket, io)));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      expect(await runCli(['init', 'works', '--api', `http://127.0.0.1:${port}`], io)).toBe(code);
      server.close();
      expect(io.stderr).toContain(said);
      expect(await readdir(folder)).toEqual([]);
    }),
  );

  it('refuses a name that no city can have', async () =>
    inFolder(async (folder) => {
      expect((await init(folder, ['works', '--name', '-x'])).io.stderr).toContain('cannot be the name of a city');
      expect(await readdir(folder)).toEqual([]);
    }));
});
