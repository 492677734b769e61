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
it.each([
  ['an api', 'api', 'queue,writes'],
  ['all in one', '', 'queue,writes'],
  ['a worker', 'worker', 'writes'],
])('finds %s well whose database only reads, and what answers also without Redis', async (_, role, exclude) => {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(new URL(url, 'http://svc').searchParams.get('exclude') === exclude ? 200 : 503).end();
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const env = { PATH: process.env.PATH, SVC_PORT: String(port), SVC_ROLE: role };
    const probe = spawn(process.execPath, SOURCES, { env, stdio: 'ignore' });
    expect([(await once(probe, 'exit'))[0], asked]).toEqual([0, [`/ready?exclude=${exclude}`]]);
  } finally {
    server.close();
  }
});
