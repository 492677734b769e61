import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Child } from '../lib/child.js';
import { findProgram, freePort, SERVER_CORE, sleep } from '../lib/machine.js';

const MODULE = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules']
  .map((dir) => join(dir, 'ngx_nchan_module.so'))
  .find(existsSync);

/** nginx with nchan, one worker, one channel. Undefined where it is not installed. */
export async function startNchan(tempDir: string): Promise<{ port: number; workerPid: number; stop(): Promise<void> } | undefined> {
  const nginx = findProgram('nginx') ?? (existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : undefined);
  if (nginx === undefined || MODULE === undefined) return undefined;
  const port = await freePort();
  const dir = join(tempDir, 'nchan');
  await mkdir(join(dir, 'tmp'), { recursive: true });
  await Promise.all([chmod(tempDir, 0o755), chmod(dir, 0o777), chmod(join(dir, 'tmp'), 0o777)]);
  await writeFile(join(dir, 'nginx.conf'), configuration(port));
  const child = Child.spawn({
    name: 'nchan',
    command: [nginx, '-c', join(dir, 'nginx.conf'), '-p', `${dir}/`],
    core: SERVER_CORE,
    tempDir,
    rpc: false,
  });
  for (let tries = 0; tries < 50; tries++) {
    await sleep(100);
    const worker = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0];
    if (worker !== undefined && worker !== '') return { port, workerPid: Number(worker), stop: () => child.stop() };
    if (!child.running) break;
  }
  await child.stop();
  throw new Error(`nchan does not start:\n${child.lastLines()}`);
}

const configuration = (port: number): string => `
load_module ${MODULE};
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 12000; }
http {
  access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  nchan_shared_memory_size 128m;
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /sub { nchan_subscriber eventsource; nchan_channel_id ev; nchan_subscriber_first_message newest; }
    location = /pub {
      nchan_publisher http; nchan_channel_id ev; nchan_message_buffer_length 1000; nchan_message_timeout 5m;
      client_body_buffer_size 16k;
    }
  }
}
`;
