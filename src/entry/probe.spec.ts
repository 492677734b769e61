import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const SOURCES = ['--import', '../../scripts/typescript.mjs', './probe.ts'].map((at) =>
  at.startsWith('.') ? fileURLToPath(new URL(at, import.meta.url)) : at,
);

// Guard: all replicas at once would not be well.
it('finds a process well whose database only reads', async () => {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(new URL(url, 'http://svc').searchParams.get('exclude') === 'writes' ? 200 : 503).end();
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const probe = spawn(process.execPath, SOURCES, { env: { PATH: process.env.PATH, SVC_PORT: String(port) }, stdio: 'ignore' });
    expect([(await once(probe, 'exit'))[0], asked]).toEqual([0, ['/ready?exclude=writes']]);
  } finally {
    server.close();
  }
});
