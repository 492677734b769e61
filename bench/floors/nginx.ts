import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../lib/child.js';
import { findProgram, freePort, SERVER_CORE, sleep } from '../lib/machine.js';

export interface Nginx {
  readonly port: number;
  readonly workerPid: number;
  stop(): Promise<void>;
}

const USUAL = '/usr/sbin/nginx';

/** nginx with one worker and this configuration of its http block. Undefined where it is not installed. */
export async function startNginx(tempDir: string, name: string, http: (port: number) => string, main = ''): Promise<Nginx | undefined> {
  const nginx = findProgram('nginx') ?? (existsSync(USUAL) ? USUAL : undefined);
  if (nginx === undefined) return undefined;
  const port = await freePort();
  const dir = join(tempDir, name);
  await mkdir(join(dir, 'tmp'), { recursive: true });
  await Promise.all([chmod(tempDir, 0o755), chmod(dir, 0o777), chmod(join(dir, 'tmp'), 0o777)]);
  await writeFile(join(dir, 'nginx.conf'), configuration(main, http(port)));
  const command = [nginx, '-c', join(dir, 'nginx.conf'), '-p', `${dir}/`];
  const child = Child.spawn({ name, command, core: SERVER_CORE, tempDir, rpc: false });
  for (let tries = 0; tries < 50; tries++) {
    await sleep(100);
    const worker = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0];
    if (worker !== undefined && worker !== '') return { port, workerPid: Number(worker), stop: () => child.stop() };
    if (!child.running) break;
  }
  await child.stop();
  throw new Error(`${name} does not start:\n${child.lastLines()}`);
}

/** nginx that forwards everything to a socket, as its manual has it; with `kept`, over connections that it keeps. */
export function startForwarding(tempDir: string, socket: string, kept: boolean): Promise<Nginx | undefined> {
  const upstream = `upstream service { server unix:${socket};${kept ? ' keepalive 64; keepalive_requests 1000000;' : ''} }`;
  const location = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 1h;';
  const http = (port: number): string => `
  ${upstream}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://service; ${location} }
  }`;
  // Sockets of services are for whoever runs them.
  return startNginx(tempDir, kept ? 'nginx-kept' : 'nginx', http, process.getuid?.() === 0 ? 'user root;' : '');
}

const configuration = (main: string, http: string): string => `
${main}
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 12000; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  keepalive_requests 1000000;
  ${http}
}
`;
