import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startNginx, type Nginx } from './nginx.js';

const MODULE = ['/usr/lib/nginx/modules', '/usr/lib64/nginx/modules', '/usr/share/nginx/modules']
  .map((dir) => join(dir, 'ngx_nchan_module.so'))
  .find(existsSync);

/** nginx with nchan, one worker, one channel. Undefined where it is not installed. */
export function startNchan(tempDir: string): Promise<Nginx | undefined> {
  if (MODULE === undefined) return Promise.resolve(undefined);
  return startNginx(tempDir, 'nchan', configuration, `load_module ${MODULE};`);
}

const configuration = (port: number): string => `
  nchan_shared_memory_size 128m;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /sub { nchan_subscriber eventsource; nchan_channel_id ev; nchan_subscriber_first_message newest; }
    location = /pub {
      nchan_publisher http; nchan_channel_id ev; nchan_message_buffer_length 1000; nchan_message_timeout 5m;
      client_body_buffer_size 16k;
    }
  }`;
