import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnAgent } from '../runtime/spawn.js';
import { Users } from './users.js';

const LIMITS = { memory: 1024 ** 3, processes: 64, files: 512 };
const [PORT, QUAY] = [1_999_000_101, 1_999_000_102];
/** Only root may start programs as somebody else. */
const isRoot = process.getuid?.() === 0;
let base: string;
let users: Users;

beforeAll(async () => {
  if (!isRoot) return;
  users = await Users.tryOn(LIMITS, PORT);
  base = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-users-')));
  await chmod(base, 0o755);
  await writeFile(path.join(base, 'admin.key'), 'secret', { mode: 0o600 });
  for (const [name, id] of [
    ['port', PORT],
    ['quay', QUAY],
  ] as const) {
    await mkdir(path.join(base, name), { mode: 0o750 });
    await writeFile(path.join(base, name, 'file'), name);
    await chown(path.join(base, name), id, id);
  }
});
afterAll(() => (isRoot ? rm(base, { recursive: true }) : undefined));

async function said(line: string, env: Record<string, string> = {}, id = PORT): Promise<string> {
  const spec = { command: 'sh', args: ['-c', line], cwd: path.join(base, 'port'), env: { PATH: '/usr/bin:/bin', ...env } };
  const agent = await spawnAgent({ ...spec, sandbox: users.sandbox(id) });
  let text = '';
  agent.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await agent.closed;
  await agent.end({ hard: true });
  return text;
}

(isRoot ? describe : describe.skip)('programs as the user of their city (skipped: not root)', () => {
  it('have its number, no groups and no capabilities', async () => {
    expect(await said('id -u; id -G; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | cut -f2')).toBe(
      `${PORT}\n${PORT}\n0000000000000000\n0000000000000000\n1\n`,
    );
    expect(await said('grep -E "^Max (processes|open files|core)" /proc/self/limits | tr -s " " | cut -d" " -f4,5 | tr "\\n" "/"')).toMatch(
      /64/,
    );
  });

  it('reach nothing of the service and of other cities', async () => {
    const files = `${base}/admin.key ${base}/quay/file /proc/${process.pid}/environ /etc/shadow`;
    expect(await said(`cat file ${files} 2>/dev/null; kill -0 ${process.pid} 2>/dev/null || echo refused`)).toBe('portrefused\n');
    const neighbour = spawn('sleep', ['600'], { uid: QUAY, gid: QUAY });
    try {
      expect(await said(`kill ${neighbour.pid} 2>/dev/null || echo refused; cat /proc/${neighbour.pid}/environ 2>/dev/null`)).toBe(
        'refused\n',
      );
    } finally {
      neighbour.kill('SIGKILL');
    }
  });

  it('gain nothing by a setuid program, and give nobody anything by one', async () => {
    expect(await said('cp /usr/bin/id mine && chmod 6755 mine && echo made')).toBe('made\n');
    const { uid, gid } = await stat(path.join(base, 'port/mine'));
    expect([uid, gid]).toEqual([PORT, PORT]);
    expect(await said('./mine -u', {}, PORT)).toBe(`${PORT}\n`);
    expect(await said('timeout 5 su -c id </dev/null 2>/dev/null || echo refused')).toBe('refused\n');
  });

  it('give what still runs as root none of their variables', async () => {
    const { env } = await users
      .sandbox(PORT)
      .enter({ command: 'sh', args: [], cwd: '/', env: { PATH: '/bin', LD_PRELOAD: '/evil.so', SVC_CITY: 'port' } });
    expect(env).toEqual({ SVC_CITY: 'port', SVC_OF_PATH: '/bin', SVC_OF_LD_PRELOAD: '/evil.so' });
    expect(await said('echo "$ODD ${SVC_OF_ODD-none}"', { ODD: `a'"$(id)` })).toBe(`a'"$(id) none\n`);
  });
});
