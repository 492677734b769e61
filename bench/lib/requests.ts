import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GroupResult } from '../clients/http.js';
import type { Child } from './child.js';
import { CLIENT_CORE, findProgram, pinned } from './machine.js';

/** Whole HTTP requests as text, and the fastest client at hand to send them. */

export function get(port: number, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
}

export function post(port: number, path: string, body: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-SVC-Request: 1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export const EMIT_BODY = '{"type":"bench.tick","actor":"agent-7","subject":"row-1","payload":{"row_id":7,"title":"write the report"}}';

/** Stands for what is different in each request. */
export const UNIQUE = 'unique-000000000';

const WRK = findProgram('wrk');
export const CLIENT_NAME = WRK === undefined ? 'own client' : 'wrk';

export type Load = Pick<GroupResult, 'perSecond' | 'p50' | 'p99'> & { readonly refused: number };

export interface LoadOptions {
  readonly port: number;
  readonly paths: readonly string[];
  readonly body?: string;
  /** One for each of the paths. */
  readonly bodies?: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

/** Closed-loop load over `connections`, with wrk where it is installed: a client in Node binds before a bare server does. */
export async function load(fallback: Child, tempDir: string, options: LoadOptions): Promise<Load> {
  const { port, paths, connections, seconds } = options;
  const bodies = options.bodies ?? [options.body];
  // Its script would make each request anew.
  if (WRK !== undefined && options.bodies === undefined) return runWrk(WRK, tempDir, options);
  const requests = paths.map((path, i) => {
    const one = bodies[i % bodies.length];
    return one === undefined ? get(port, path) : post(port, path, one);
  });
  const groups = [{ name: 'all', connections, requests }];
  const { all } = await fallback.call<Record<'all', GroupResult>>('run', { port, seconds, groups });
  const refused = Object.entries(all.statuses).reduce((n, [status, times]) => (status.startsWith('2') ? n : n + times), 0);
  return { ...all, refused };
}

async function runWrk(program: string, tempDir: string, options: LoadOptions): Promise<Load> {
  const script = join(tempDir, 'wrk.lua');
  const method = options.body === undefined ? 'GET' : 'POST';
  const headers = options.body === undefined ? '{}' : '{["Content-Type"] = "application/json", ["X-SVC-Request"] = "1"}';
  await writeFile(
    script,
    `local paths = {${options.paths.map((path) => `"${path}"`).join(',')}}
local requests, n = {}, 0
init = function()
  for i, path in ipairs(paths) do requests[i] = wrk.format("${method}", path, ${headers}, ${options.body === undefined ? 'nil' : `[==[${options.body}]==]`}) end
end
request = function() n = n % #requests + 1; return requests[n] end
`,
  );
  const [command, args] = pinned(CLIENT_CORE, [
    program,
    '-t1',
    `-c${options.connections}`,
    `-d${Math.ceil(options.seconds)}s`,
    '--latency',
    '-s',
    script,
    `http://127.0.0.1:${options.port}/`,
  ]);
  const output = await new Promise<string>((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`wrk: ${text}`))));
  });
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]),
    p50: milliseconds(/\s50%\s+(\S+)/.exec(output)?.[1]),
    p99: milliseconds(/\s99%\s+(\S+)/.exec(output)?.[1]),
    refused: Number(/Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? 0),
  };
}

function milliseconds(text: string | undefined): number {
  const [, value, unit] = /^([\d.]+)(us|ms|s)$/.exec(text ?? '') ?? [];
  return Number(value) * (unit === 'us' ? 0.001 : unit === 's' ? 1000 : 1);
}
